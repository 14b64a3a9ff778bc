// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Determines which file a thread that has requested an execve will execute, with the thread's own
 * root, directory, descriptors and user.
 *
 * The result is only a hint, needed by tracers under which programs do not get the privileges of
 * their files. A program that changes the file or its name afterwards runs without them. After
 * execve, privileges.c decides whether the engine may be in the process.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

#define MAX_SCRIPTS 5	/* limit of #! lines, as in the kernel */

int dep_task_read(struct dep_task *t, int proc)
{
	char line[256];
	FILE *f;

	memset(t, 0, sizeof(*t));
	t->dead = true;
	f = dep_proc_file(proc, "status");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		/* A process name cannot begin a line: newlines in it are escaped. */
		if (!strncmp(line, "VmSize:", 7))
			t->dead = false;
		sscanf(line, "Tgid: %d", &t->pid);
		sscanf(line, "PPid: %d", &t->parent);
		sscanf(line, "Uid: %u %u", &t->cred.uid, &t->cred.euid);
		sscanf(line, "Gid: %u %u", &t->cred.gid, &t->cred.egid);
		sscanf(line, "NoNewPrivs: %d", &t->cred.no_new_privs);
	}
	fclose(f);
	return t->pid > 0 ? 0 : -ESRCH;
}

bool dep_task_shares(const struct dep_task *t, pid_t tid, pid_t pid)
{
	long ret = syscall(SYS_kcmp, pid, tid, KCMP_VM, 0, 0);

	/* kcmp(2) may be missing; then trust a child that maps the session. */
	return ret < 0 && errno != ESRCH ? t->parent == pid : !ret;
}

/*
 * Read the string at @addr of a process's memory, at most @size bytes with its NUL.
 *
 * Return: 0 or a negative errno.
 */
static int read_string(int mem, u64 addr, char *to, size_t size)
{
	size_t have, n;
	int err;

	for (have = 0; have < size; have += n) {
		/* Read up to the end of a page: the next page may not exist. */
		n = ADEPT_PAGE - (addr + have) % ADEPT_PAGE;
		if (n > size - have)
			n = size - have;
		err = dep_memory_read(mem, addr + have, to + have, n);
		if (err)
			return err;
		if (memchr(to + have, 0, n))
			return 0;
	}
	return -ENAMETOOLONG;
}

/* Read the name of the file that the thread has passed to execve. */
static int read_name(pid_t tid, u64 addr, char *name, size_t size)
{
	int proc = dep_proc_open(tid), mem, err;

	if (proc < 0)
		return proc;
	mem = dep_memory_open(proc);
	close(proc);
	if (mem < 0)
		return mem;
	err = read_string(mem, addr, name, size);
	close(mem);
	return err;
}

/* "self" means the reader: replace it by the thread. */
static void name_self(pid_t tid, const char *path, char *to, size_t size)
{
	static const struct { const char *prefix, *put; } table[] = {
		{ "/proc/self/", "" },
		{ "/proc/thread-self/", "" },
		{ "/dev/fd/", "fd/" },
	};
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		n = strlen(table[i].prefix);
		if (strncmp(path, table[i].prefix, n))
			continue;
		snprintf(to, size, "/proc/%d/%s%s", tid, table[i].put, path + n);
		return;
	}
	snprintf(to, size, "%s", path);
}

/* Open an absolute name; symbolic links are relative to the thread's root, too. */
static int open_below_root(int root, const char *path, int flags)
{
	struct open_how how = { .flags = (u64)flags, .resolve = RESOLVE_IN_ROOT };
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	/* openat2(2) may be missing, and it rejects magic links of /proc. */
	if (fd < 0 && (errno == ENOSYS || errno == EXDEV || errno == ELOOP || errno == EPERM))
		fd = openat(root, path + strspn(path, "/"), flags);
	return fd;
}

/* Return: an O_PATH descriptor of the file, or a negative errno. */
static int open_as(pid_t tid, s32 dirfd, const char *path, u32 flags)
{
	int how = O_PATH | O_CLOEXEC | (flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0);
	char base[64], name[PATH_MAX + 64];
	int dir, fd;

	name_self(tid, path, name, sizeof(name));
	if (*name == '/')
		snprintf(base, sizeof(base), "/proc/%d/root", tid);
	else if (dirfd == AT_FDCWD)
		snprintf(base, sizeof(base), "/proc/%d/cwd", tid);
	else
		snprintf(base, sizeof(base), "/proc/%d/fd/%d", tid, dirfd);
	dir = open(base, O_PATH | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	if (!*name)
		return flags & AT_EMPTY_PATH ? dir : (close(dir), -ENOENT);
	fd = *name == '/' ? open_below_root(dir, name, how) : openat(dir, name, how);
	if (fd < 0)
		fd = -errno;
	close(dir);
	return fd;
}

/* Read the interpreter of the script @fd into @path; false if it is no script. */
static bool script(int fd, char *path, size_t size)
{
	char self[64], buf[257];
	ssize_t n;
	int in;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	in = open(self, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (in < 0)
		return false;
	n = read(in, buf, sizeof(buf) - 1);
	close(in);
	if (n < 3 || buf[0] != '#' || buf[1] != '!')
		return false;
	buf[n] = '\0';
	return dep_image_interpreter(buf, path, size);
}

bool dep_request_privileged(const struct dep_task *t, pid_t tid, const struct dep_exec_args *args,
			    char *file, size_t size)
{
	s32 dirfd = args->dirfd;
	u32 flags = args->flags;
	struct stat st;
	int fd, ret;

	if (read_name(tid, args->path, file, size))
		return false;
	for (int depth = 0; depth <= MAX_SCRIPTS; depth++) {
		fd = open_as(tid, dirfd, file, flags);
		if (fd < 0)
			return false;
		if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
			close(fd);
			return false;
		}
		ret = dep_image_raises(fd, &t->cred);
		if (!script(fd, file, size)) {
			close(fd);
			return ret > 0;
		}
		close(fd);
		dirfd = AT_FDCWD;
		flags = 0;
	}
	return false;
}
