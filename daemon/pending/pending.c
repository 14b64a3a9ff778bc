// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The map of pending processes, seen from user space.
 *
 * The watchdog runs pending_resume() and pending_resume_all(), which allocate no memory.
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "pending.h"

#define FOLDER		"/sys/fs/bpf/adept"
#define NS_PER_TICK	10000000ull	/* unit of times in /proc/PID/stat on x86 */
/* An entry's process stops within this time.  If it is not stopped later, it was resumed. */
#define RESOLVE_MS	1000

static u64 now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000 + (u64)t.tv_nsec / 1000000;
}

static void nap(void)
{
	const struct timespec t = { .tv_nsec = 10000000 };

	nanosleep(&t, NULL);
}

/* Read state and start time (in ticks) from /proc/PID/stat.  Return: 0: no such process. */
static char look(pid_t pid, u64 *start)
{
	char path[32], buf[1024], *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	buf[n > 0 ? n : 0] = '\0';
	/* The process name before the last ')' can contain any character. */
	p = strrchr(buf, ')');
	if (!p || strlen(p) < 4)
		return 0;
	p += 2;
	buf[0] = *p;
	for (int field = 3; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	*start = p ? strtoull(p, NULL, 10) : 0;
	return buf[0];
}

/* True if @ticks (from /proc) and @start_ns can be the same start time. */
static bool began(u64 ticks, u64 start_ns)
{
	return ticks == start_ns / NS_PER_TICK || ticks == start_ns / NS_PER_TICK + 1;
}

/*
 * Resume @pid if it is stopped and is the process of entry @h, not a later process with the same
 * pid.  Before it is resumed, the entry is marked, so that its end is not counted as that of a
 * pending process.  The entry is removed last, since the watchdog can be killed in between.
 *
 * Return: true if the entry can be removed.
 */
static bool release(int table, pid_t pid, struct exec_pending *h, u64 age_ms)
{
	u32 key = (u32)pid;
	u64 start;
	char state = look(pid, &start);

	if (!state || state == 'Z' || state == 'X' || !began(start, h->start))
		return true;
	if (state == 'T') {
		h->ns = 0;
		if (bpf_map_update_elem(table, &key, h, BPF_EXIST) && errno == ENOENT)
			return true;
		return !kill(pid, SIGCONT) || errno == ESRCH;
	}
	/* Keep the entry of a process that is not stopped yet, or is being attached ('t'). */
	return state != 't' && age_ms > RESOLVE_MS;
}

size_t pending_resume(int table, u64 min_ms)
{
	u32 key, next, *from = NULL;
	struct exec_pending h;
	size_t left = 0;
	u64 age;

	while (!bpf_map_get_next_key(table, from, &next)) {
		key = next;
		from = &key;
		if (bpf_map_lookup_elem(table, &key, &h))
			continue;
		age = now_ms() - h.ns / 1000000;
		if (age < min_ms || !release(table, (pid_t)key, &h, age)) {
			left++;
			continue;
		}
		bpf_map_delete_elem(table, &key);
		/* The key from which to continue was deleted: start again. */
		from = NULL;
		left = 0;
	}
	return left;
}

void pending_resume_all(int table)
{
	/* A BPF program on another processor can still add an entry: require 5 empty passes. */
	for (int i = 0, empty = 0; i < 100 + RESOLVE_MS / 10 && empty < 5; i++) {
		empty = pending_resume(table, 0) ? 0 : empty + 1;
		nap();
	}
}

size_t pending_count(int table)
{
	u32 key, *from = NULL;
	size_t n = 0;

	for (; !bpf_map_get_next_key(table, from, &key) && n < EXEC_PENDING; n++)
		from = &key;
	return n;
}

/* The pin is named held-PID-START after this process; names in bpffs cannot have dots. */
void pending_pin(int table, char *path, size_t size)
{
	u64 start = 0;

	look(getpid(), &start);
	snprintf(path, size, FOLDER "/held-%d-%llu", getpid(), (unsigned long long)start);
	mkdir(FOLDER, 0700);
	unlink(path);
	if (bpf_obj_pin(table, path))
		*path = '\0';
}

static bool lives(const char *name)
{
	unsigned long long start;
	u64 found;
	char state;
	int pid;

	if (sscanf(name, "held-%d-%llu", &pid, &start) != 2)
		return false;
	state = look(pid, &found);
	return state && state != 'Z' && state != 'X' && found == start;
}

/* Remove entries whose pid another process has now, which may be stopped for other reasons. */
static void forget_others(int table)
{
	u32 key, next, *from = NULL;
	struct exec_pending h;
	u64 start;

	while (!bpf_map_get_next_key(table, from, &next)) {
		key = next;
		from = &key;
		if (bpf_map_lookup_elem(table, &key, &h))
			continue;
		if (look((pid_t)key, &start) && began(start, h.start))
			continue;
		bpf_map_delete_elem(table, &key);
		from = NULL;
	}
}

unsigned int pending_recover(void)
{
	DIR *d = opendir(FOLDER);
	char path[sizeof(FOLDER) + 256];
	unsigned int n = 0;
	struct dirent *e;
	int fd;

	if (!d)
		return 0;
	while ((e = readdir(d))) {
		if (strncmp(e->d_name, "held-", 5) || lives(e->d_name))
			continue;
		snprintf(path, sizeof(path), FOLDER "/%s", e->d_name);
		fd = bpf_obj_get(path);
		if (fd < 0)
			continue;
		forget_others(fd);
		pending_resume(fd, 0);
		close(fd);
		unlink(path);
		n++;
	}
	closedir(d);
	return n;
}
