// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Find the session file of a recorded process.
 *
 * It is a memfd, without a name by which it could be opened.  Root opens the process's mapping of
 * it in /proc/PID/map_files.  Others open a descriptor of the recorder, which has the file open, or
 * ask the recorder for one.
 *
 * What the process maps and has in its slot may be anything; the file must be sealed against
 * shrinking, and its header is checked.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "session.h"

static const char name[] = "/memfd:" ADEPT_SESSION_NAME " (deleted)";

static int not_recorded(pid_t pid, struct dep_why *why)
{
	return dep_inject_error(why, ESRCH, "Process %d is not being recorded.", pid);
}

/** struct mapping - a mapping of a session file */
struct mapping {
	unsigned long long start, end, inode;
	unsigned int major, minor;
};

/* The mapping of the session's beginning.  Return: 0 or a negative errno. */
static int find_mapping(int proc, pid_t pid, struct mapping *m, struct dep_why *why)
{
	FILE *f = dep_proc_file(proc, "maps");
	unsigned long long offset;
	bool found = false;
	char *line = NULL;
	size_t room = 0;

	if (!f && errno != EACCES && errno != EPERM)
		return dep_inject_error(why, ESRCH, "There is no process %d.", pid);
	if (!f)
		return dep_inject_error(why, EPERM, "Process %d belongs to another user or is "
					"protected; root can detach from it.", pid);
	while (!found && getline(&line, &room, f) > 0)
		found = strstr(line, name) &&
			sscanf(line, "%llx-%llx %*s %llx %x:%x %llu", &m->start, &m->end, &offset,
			       &m->major, &m->minor, &m->inode) == 6 && !offset;
	free(line);
	fclose(f);
	return found ? 0 : not_recorded(pid, why);
}

static bool is_file(const struct dep_target *t, const struct mapping *m)
{
	return t->ino == m->inode && major(t->dev) == m->major && minor(t->dev) == m->minor;
}

static int open_mapping(int proc, const struct mapping *m)
{
	char path[64];

	snprintf(path, sizeof(path), "map_files/%llx-%llx", m->start, m->end);
	return openat(proc, path, O_RDWR | O_CLOEXEC);
}

/* Does the descriptor @path refer to the file of @m?  Only its link and its status are read. */
static bool refers_to(const char *path, const struct mapping *m)
{
	char link[sizeof(name) + 1];
	ssize_t n = readlink(path, link, sizeof(link));
	struct stat st;

	return n == (ssize_t)sizeof(name) - 1 && !memcmp(link, name, sizeof(name) - 1) &&
	       !stat(path, &st) && st.st_ino == m->inode && major(st.st_dev) == m->major &&
	       minor(st.st_dev) == m->minor;
}

static int open_of_process(const char *pid, const struct mapping *m)
{
	struct dirent *e;
	int fd = -1;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	dir = opendir(path);
	while (dir && fd < 0 && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%.16s/fd/%.16s", pid, e->d_name);
		if (refers_to(path, m))
			fd = open(path, O_RDWR | O_CLOEXEC);
	}
	if (dir)
		closedir(dir);
	return fd;
}

/* Open it through a process that has it open. */
static int open_of_recorder(const struct mapping *m)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	int fd = -1;

	while (dir && fd < 0 && (e = readdir(dir)))
		if (isdigit((unsigned char)*e->d_name))
			fd = open_of_process(e->d_name, m);
	if (dir)
		closedir(dir);
	return fd;
}

static int map_session(struct dep_found *f, int fd, struct dep_why *why)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *map;

	/* An access to a file that has been truncated would raise SIGBUS. */
	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) ||
	    st.st_size < (off_t)sizeof(struct adept_session))
		return dep_inject_error(why, EINVAL, "Its session file is invalid.");
	f->size = (size_t)st.st_size;
	map = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (map == MAP_FAILED)
		return dep_inject_error(why, errno, "Its session file cannot be mapped: %m.");
	if (!dep_target_adopt(&f->target, map, map, fd, why))
		return 0;
	munmap(map, f->size);
	return -EINVAL;
}

static const struct adept_proc *slot_at(const struct dep_found *f, u32 i)
{
	return (const struct adept_proc *)((char *)f->target.session + f->target.layout.proc_off) +
	       i;
}

static bool is_live(const struct dep_found *f, u32 i, pid_t pid)
{
	const struct adept_proc *p = slot_at(f, i);

	return __atomic_load_n(&p->state, __ATOMIC_ACQUIRE) == ADEPT_SLOT_LIVE &&
	       __atomic_load_n(&p->pid, __ATOMIC_RELAXED) == (u32)pid;
}

static int find_slot(struct dep_found *f, pid_t pid, struct dep_why *why)
{
	u32 i;

	for (i = 0; i < f->target.layout.nprocs; i++) {
		if (!is_live(f, i, pid))
			continue;
		f->slot = i;
		return 0;
	}
	return dep_inject_error(why, ESRCH, "Process %d is not in its session any more.", pid);
}

static int open_session(int proc, pid_t pid, struct dep_why *why)
{
	struct mapping m;
	int fd, err = find_mapping(proc, pid, &m, why);

	if (err)
		return err;
	fd = open_mapping(proc, &m);
	if (fd < 0)
		fd = open_of_recorder(&m);
	if (fd < 0)
		return dep_inject_error(why, EPERM, "The session of process %d cannot be opened; "
					"root can do so.", pid);
	return fd;
}

int dep_session_find(struct dep_found *f, pid_t pid, struct dep_why *why)
{
	int proc = dep_proc_open_used(pid), fd, err;

	memset(f, 0, sizeof(*f));
	f->target.fd = -1;
	if (proc < 0)
		return dep_inject_error(why, ESRCH, "There is no process %d.", pid);
	fd = open_session(proc, pid, why);
	close(proc);
	if (fd < 0)
		return fd;
	err = dep_session_use_file(f, fd, why);
	if (err)
		return err;
	err = find_slot(f, pid, why);
	if (err)
		dep_session_close(f);
	return err;
}

int dep_session_number(pid_t pid, dev_t *dev, ino_t *ino, struct dep_why *why)
{
	int proc = dep_proc_open_used(pid), err;
	struct mapping m;

	if (proc < 0)
		return dep_inject_error(why, ESRCH, "There is no process %d.", pid);
	err = find_mapping(proc, pid, &m, why);
	close(proc);
	if (err)
		return err;
	*dev = makedev(m.major, m.minor);
	*ino = m.inode;
	return 0;
}

int dep_session_use_file(struct dep_found *f, int fd, struct dep_why *why)
{
	int err;

	memset(f, 0, sizeof(*f));
	err = map_session(f, fd, why);
	if (!err)
		return 0;
	close(fd);
	f->target.fd = -1;
	return err;
}

int dep_session_process(struct dep_found *f, pid_t pid, struct dep_why *why)
{
	int proc = dep_proc_open_used(pid);
	struct mapping m;
	int err;

	if (proc < 0)
		return dep_inject_error(why, ESRCH, "There is no process %d.", pid);
	/* The slots are writable for all processes of the session: trust the mapping only. */
	err = find_mapping(proc, pid, &m, why);
	close(proc);
	if (!err && !is_file(&f->target, &m))
		err = not_recorded(pid, why);
	return err ? err : find_slot(f, pid, why);
}

pid_t dep_session_each(const struct dep_found *f, u32 i)
{
	const struct adept_proc *p;

	if (i >= f->target.layout.nprocs)
		return -1;
	p = slot_at(f, i);
	if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != ADEPT_SLOT_LIVE ||
	    (__atomic_load_n(&p->leave, __ATOMIC_RELAXED) != ADEPT_LEAVE_NONE &&
	     !dep_is_paused(&f->target, i)))
		return 0;
	return (pid_t)__atomic_load_n(&p->pid, __ATOMIC_RELAXED);
}

bool dep_session_left(const struct dep_found *f, pid_t pid)
{
	u32 leave = __atomic_load_n(&slot_at(f, f->slot)->leave, __ATOMIC_ACQUIRE);

	return !is_live(f, f->slot, pid) ||
	       (leave != ADEPT_LEAVE_LEAVING && leave != ADEPT_LEAVE_LAST);
}

void dep_session_close(struct dep_found *f)
{
	if (f->target.session)
		munmap(f->target.session, f->size);
	if (f->target.fd >= 0)
		close(f->target.fd);
	f->target.session = NULL;
	f->target.fd = -1;
}
