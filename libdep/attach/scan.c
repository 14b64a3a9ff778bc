// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The threads of a process, and what each of them does.
 *
 * /proc/PID/task/TID/syscall shows what a thread does without stopping it: the system call and its
 * arguments if the thread sleeps in one, "running" if it is on a processor or about to be.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define STATUS_SIZE	4096	/* more than the part of a status file that is read */

/* Read the file @name in the thread's /proc directory.  Return: bytes read, or -errno. */
static ssize_t read_small(int proc, pid_t tid, const char *name, char *buf, size_t size)
{
	char path[48];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "task/%d/%s", tid, name);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return n;
}

/* Return: the thread's state letter in /proc; 0: it has ended.  @name: its name, or NULL */
static char read_stat(int proc, pid_t tid, char name[16])
{
	char buf[512], *begin, *end;
	size_t n;

	if (read_small(proc, tid, "stat", buf, sizeof(buf)) <= 0)
		return 0;
	begin = strchr(buf, '(');
	end = strrchr(buf, ')');
	if (!begin || !end || end < begin || !end[1])
		return 0;
	if (name) {
		n = (size_t)(end - begin - 1);
		n = n < 15 ? n : 15;
		memcpy(name, begin + 1, n);
		name[n] = '\0';
	}
	return end[2];
}

/* Read the syscall file: "NR ARGS SP PC", "-1 SP PC" outside of system calls, or "running". */
static void read_call(int proc, struct dep_attach_thread *t)
{
	unsigned long long v[8] = { 0 };
	char buf[256];
	long long nr;
	ssize_t n;

	t->call = -1;
	n = read_small(proc, t->tid, "syscall", buf, sizeof(buf));
	if (n <= 0 || sscanf(buf, "%lld %llx %llx %llx %llx %llx %llx %llx %llx", &nr, &v[0], &v[1],
			     &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) != 9)
		return;
	t->call = nr;
	for (int i = 0; i < 6; i++)
		t->args[i] = v[i];
	t->sp = v[6];
	t->pc = v[7];
}

bool scan_has_filter(int proc, pid_t tid)
{
	static const char key[] = "\nSeccomp:\t";
	char buf[4096], *mode;

	if (read_small(proc, tid, "status", buf, sizeof(buf)) <= 0)
		return false;
	mode = strstr(buf, key);
	return mode && mode[sizeof(key) - 1] != '0';
}

static bool may_be_stopped(const struct scan *s, const struct dep_attach_thread *t)
{
	return call_restarts(s, t->tid, t->call, t->args) &&
	       !(call_restarts_by_another(t->call, t->args) && scan_has_filter(s->proc, t->tid));
}

static enum dep_attach_kind kind_of(const struct scan *s, char state,
				    const struct dep_attach_thread *t)
{
	switch (state) {
	case 'R':
	case 't':	/* in a ptrace stop that this process, its tracer, has not seen yet */
		return DEP_ATTACH_RUNNING;
	case 'T':
		return DEP_ATTACH_STOPPED;
	case 'S':
		if (t->call < 0)
			return DEP_ATTACH_RUNNING;
		return may_be_stopped(s, t) ? DEP_ATTACH_RESTARTS : DEP_ATTACH_RETURNS;
	default:
		return t->call >= 0 && call_is_vfork(t->call, t->args) ? DEP_ATTACH_VFORKS
									: DEP_ATTACH_BLOCKED;
	}
}

int scan_look(const struct scan *s, pid_t tid, struct dep_attach_thread *now)
{
	char state;

	memset(now, 0, sizeof(*now));
	now->tid = tid;
	read_call(s->proc, now);
	/* Read the state after the call: a thread that has woken up since counts as running. */
	state = read_stat(s->proc, tid, now->name);
	if (!state || state == 'Z' || state == 'X')
		return -ESRCH;
	now->kind = kind_of(s, state, now);
	if (now->kind == DEP_ATTACH_RUNNING)
		now->call = -1;
	return 0;
}

bool scan_signals(const struct scan *s, pid_t tid, struct signal_sets *sets)
{
	const struct { const char *key; u64 *set; } lines[] = {
		{ "\nSigPnd:", &sets->pending }, { "\nShdPnd:", &sets->shared },
		{ "\nSigBlk:", &sets->blocked }, { "\nSigIgn:", &sets->ignored },
		{ "\nSigCgt:", &sets->caught },
	};
	char buf[STATUS_SIZE], *at;

	if (read_small(s->proc, tid, "status", buf, sizeof(buf)) <= 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		at = strstr(buf, lines[i].key);
		if (!at)
			return false;
		*lines[i].set = strtoull(at + strlen(lines[i].key), NULL, 16);
	}
	return true;
}

struct dep_attach_thread *scan_find(const struct scan *s, pid_t tid, u32 *at)
{
	u32 i, k;

	for (i = 0; i < s->n; i++) {
		k = (*at + i) % s->n;
		if (s->thread[k].tid == tid) {
			*at = k + 1;
			return &s->thread[k];
		}
	}
	return NULL;
}

static int add(struct scan *s, pid_t tid, struct dep_why *why)
{
	if (s->n == DEP_ATTACH_THREADS)
		return dep_inject_error(why, E2BIG, "Process %d has more than %u threads.", s->pid,
					DEP_ATTACH_THREADS);
	/* Do not add a thread that has ended since it was listed. */
	return scan_look(s, tid, &s->thread[s->n]) ? 0 : (s->n++, 1);
}

int scan_threads(struct scan *s, struct dep_why *why)
{
	int fd = openat(s->proc, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC), added = 0, err = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	pid_t tid;
	u32 at = 0;

	if (!dir) {
		err = errno;
		if (fd >= 0)
			close(fd);
		return dep_inject_error(why, err == ENOENT ? ESRCH : err,
					"There is no process %d any more.", s->pid);
	}
	while (!err && (e = readdir(dir))) {
		tid = (pid_t)atoi(e->d_name);
		if (tid <= 0 || tid == s->ours || scan_find(s, tid, &at))
			continue;
		err = add(s, tid, why);
		if (err > 0) {
			added++;
			err = 0;
		}
	}
	closedir(dir);
	return err ? err : added;
}
