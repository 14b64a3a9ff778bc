// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process that has given up its privileges can neither read nor steer one that keeps them:
 * layout FIELD
 *
 * A child of a recorded process of root's becomes user 1.  It looks whether it still has memory of
 * its parent's slots and rings.  Then it writes to what it has, to FIELD of the session's first
 * page, or to `slots': what slots say of rings.  With `nothing' it goes on to record instead, as
 * the parent does in any case: it runs new code, makes threads and a child, and must end.  With
 * `namespace' it enters a user namespace; its child executes this program again, which looks how
 * much of the session it has.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../libdep/abi/session_file.h"
#include "../programs/session_map.h"

#define FAR	0x414100000000ull

static const struct {
	const char *name;
	size_t off, size;
} fields[] = {
#define FIELD(m) { #m, offsetof(struct adept_session, m), sizeof(((struct adept_session *)0)->m) }
	FIELD(flags), FIELD(chunk_size), FIELD(nchunks), FIELD(nprocs), FIELD(nthreads),
	FIELD(desc_size), FIELD(proc_off), FIELD(thread_off), FIELD(desc_off), FIELD(ring_off),
	FIELD(file_size),
};

static struct adept_session *find_session(void)
{
	unsigned long start;
	char line[4352];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f))
		if (is_session_map(line) && sscanf(line, "%lx-", &start) == 1)
			return (struct adept_session *)start;
	return NULL;
}

/* Is @at in memory of the session file? */
static int is_shared(const void *at)
{
	unsigned long start, end;
	char line[4352];
	int found = 0;
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f))
		if (is_session_map(line) && sscanf(line, "%lx-%lx", &start, &end) == 2 &&
		    start <= (unsigned long)at && (unsigned long)at < end)
			found = 1;
	if (f)
		fclose(f);
	return found;
}

/* What there is of the process with number @pid; its first thread has the same. */
static unsigned int places_of(struct adept_session *s, u32 pid, void *place[5])
{
	struct adept_proc *p = (struct adept_proc *)((char *)s + s->proc_off);
	struct adept_thread *t = (struct adept_thread *)((char *)s + s->thread_off);
	unsigned int n = 0;
	u32 i;

	place[n++] = s;
	for (i = 0; i < s->procs_used; i++) {
		if (p[i].pid != pid)
			continue;
		place[n++] = p + i;
		place[n++] = (char *)s + s->desc_off + (u64)i * s->desc_size;
	}
	for (i = 0; i < 64 && n < 5; i++) {
		if (t[i].tid != pid)
			continue;
		place[n++] = t + i;
		place[n++] = (char *)s + adept_chunk_off(s, i, 0);
	}
	return n;
}

/* An odd number of bytes far past what there is, in the descriptors of every process. */
static void scribble_slots(struct adept_proc *p, u32 desc_size)
{
	for (u32 i = 0; i < 8; i++)
		if (is_shared(p + i) && p[i].state == ADEPT_SLOT_LIVE)
			p[i].desc_head = p[i].desc_tail = desc_size - 4;
}

/* A domain has some hundred MiB, all of the session is many GiB. */
static int has_little(void)
{
	unsigned long start, end, sum = 0;
	char line[4352];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f))
		if (is_session_map(line) && sscanf(line, "%lx-%lx", &start, &end) == 2)
			sum += end - start;
	if (f)
		fclose(f);
	return sum && sum < 1ul << 30;
}

static int execute_look(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (!has_little())
			_exit(30);
		execl("/proc/self/exe", "layout", "look", NULL);
		_exit(31);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 32;
	return WEXITSTATUS(status);
}

static int go_on(void);

static int scribble(const char *name)
{
	struct adept_session *s = find_session();
	struct adept_proc *slots;
	unsigned int n;
	u64 value = FAR;
	void *place[5];
	u32 desc_size;
	size_t i;

	if (!s)
		return 3;
	slots = (struct adept_proc *)((char *)s + s->proc_off);
	desc_size = s->desc_size;
	n = places_of(s, (u32)getppid(), place);
	if (n != 5)
		return 20;
	for (i = 0; i < n; i++)
		if (!is_shared(place[i]))
			return 21;
	if (!strcmp(name, "namespace") ? unshare(CLONE_NEWUSER) :
	    setresgid(1, 1, 1) || setresuid(1, 1, 1))
		return 4;
	for (i = 0; i < n; i++)
		if (is_shared(place[i]))
			return 22 + (int)i;
	if (!strcmp(name, "namespace"))
		return execute_look();
	if (!strcmp(name, "nothing"))
		return go_on() == 7 ? 0 : 6;
	if (!strcmp(name, "slots")) {
		scribble_slots(slots, desc_size);
		return 0;
	}
	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strcmp(fields[i].name, name))
			continue;
		if (fields[i].size == 4)
			value = !strcmp(name, "flags") ? ADEPT_S_MODULE : 0x41000000;
		memcpy((char *)s + fields[i].off, &value, fields[i].size);
		return 0;
	}
	return 5;
}

static void *thread(void *arg)
{
	return arg;
}

/* Code that has not run yet, so that it must be described: @n functions. */
static unsigned int run_new_code(unsigned int n)
{
	/* mov $i, %eax; ret */
	unsigned char *p = mmap(NULL, 64 * n, PROT_READ | PROT_WRITE | PROT_EXEC,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i, sum = 0;

	if (p == MAP_FAILED)
		return 0;
	for (i = 0; i < n; i++) {
		p[64 * i] = 0xb8;
		memcpy(p + 64 * i + 1, &i, 4);
		p[64 * i + 5] = 0xc3;
	}
	for (i = 0; i < n; i++)
		sum += ((unsigned int (*)(void))(uintptr_t)(p + 64 * i))();
	munmap(p, 64 * n);
	return sum;
}

static int go_on(void)
{
	pthread_t t;
	int status;
	pid_t pid;

	if (run_new_code(2000) != 2000 * 1999 / 2)
		return 6;
	for (int i = 0; i < 4; i++)
		if (pthread_create(&t, NULL, thread, NULL) || pthread_join(t, NULL))
			return 8;
	pid = fork();
	if (!pid)
		_exit(9);
	if (waitpid(pid, &status, 0) != pid || status != 9 << 8)
		return 10;
	return run_new_code(2000) == 2000 * 1999 / 2 ? 7 : 11;
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc < 2)
		return 98;
	if (!strcmp(argv[1], "look"))
		return has_little() ? 0 : 33;
	pid = fork();
	if (!pid)
		_exit(scribble(argv[1]));
	if (waitpid(pid, &status, 0) != pid || status)
		return WIFEXITED(status) ? 90 + WEXITSTATUS(status) : 90;
	status = go_on();
	printf("went on: %d\n", status);
	return status;
}
