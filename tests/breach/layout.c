// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process that has given up its privileges cannot steer one that keeps them: layout FIELD
 *
 * A child of a recorded process of root's becomes user 1 and writes to the memory that both share,
 * to FIELD of the session's first page, or to `slots': what its parent's slots say of rings.  The
 * parent goes on to record: it runs new code, makes threads and children, and must end as ever.
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../libdep/abi/session.h"
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

/* An odd number of bytes far behind what there is, in the descriptors of every process. */
static void scribble_slots(struct adept_session *s)
{
	struct adept_proc *p = (struct adept_proc *)((char *)s + s->proc_off);

	for (u32 i = 0; i < 8; i++)
		if (p[i].state == ADEPT_SLOT_LIVE)
			p[i].desc_head = p[i].desc_tail = s->desc_size - 4;
}

static int scribble(const char *name)
{
	struct adept_session *s = find_session();
	u64 value = FAR;
	size_t i;

	if (!s)
		return 3;
	if (setresgid(1, 1, 1) || setresuid(1, 1, 1))
		return 4;
	if (!strcmp(name, "slots")) {
		scribble_slots(s);
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
	pid = fork();
	if (!pid)
		_exit(scribble(argv[1]));
	if (waitpid(pid, &status, 0) != pid || status)
		return WIFEXITED(status) ? 90 + WEXITSTATUS(status) : 90;
	status = go_on();
	printf("went on: %d\n", status);
	return status;
}
