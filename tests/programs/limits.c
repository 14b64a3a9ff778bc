// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: first-engine.  Flags: -static
 *
 * limits WHAT MIB [child]: set a limit of memory (data, space; soft: of data; none), see that it
 * is the one that was set, run much new code, take memory until there is no more, and do the same
 * in a child.  Prints what is the same natively and recorded: limits, and the memory in steps of
 * 16 MiB.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define MIB		(1u << 20)
#define FUNCTIONS	20000

extern char **environ;

static int is_executed;

static void show(const char *name, int resource)
{
	struct rlimit l;

	CHECK(!getrlimit(resource, &l));
	printf("%s: %llx %llx\n", name, (unsigned long long)l.rlim_cur,
	       (unsigned long long)l.rlim_max);
}

/* Each is translated: the engine needs memory for that. */
static void run_code(void)
{
	const unsigned char code[6] = { 0xb8, 0, 0, 0, 0, 0xc3 };
	unsigned char *p = mmap(NULL, FUNCTIONS * 16, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i, sum_of = 0;

	if (p == MAP_FAILED) {
		printf("no room for code\n");
		return;
	}
	for (i = 0; i < FUNCTIONS; i++) {
		memcpy(p + i * 16, code, sizeof(code));
		memcpy(p + i * 16 + 1, &i, 4);
	}
	CHECK(!mprotect(p, FUNCTIONS * 16, PROT_READ | PROT_EXEC));
	for (i = 0; i < FUNCTIONS; i++)
		sum_of += ((int (*)(void))(p + i * 16))();
	mix((uint64_t)sum_of);
	CHECK(!munmap(p, FUNCTIONS * 16));
}

static void take_memory(void)
{
	static void *taken[4096];
	int n = 0;

	while (n < 4096 && (taken[n] = mmap(NULL, MIB, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED)
		n++;
	/* Eight of the program's own make no difference. */
	printf("memory: %d MiB\n", (n + 8) / 16 * 16);
	while (n--)
		munmap(taken[n], MIB);
}

static void all(void)
{
	show("data", RLIMIT_DATA);
	show("space", RLIMIT_AS);
	run_code();
	take_memory();
	run_code();
	fflush(stdout);
}

static void wait_for(pid_t pid)
{
	int status;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	printf("status %x\n", (unsigned int)status);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char *args[] = { argv[0], "none", "0", "child", NULL };
	struct rlimit l;
	pid_t pid;

	const char *what = argc > 2 ? argv[1] : "none";

	is_executed = argc > 3;
	l.rlim_cur = l.rlim_max = (rlim_t)(argc > 2 ? atoi(argv[2]) : 0) * MIB;
	if (!strcmp(what, "data"))
		CHECK(!setrlimit(RLIMIT_DATA, &l));
	if (!strcmp(what, "space"))
		CHECK(!setrlimit(RLIMIT_AS, &l));
	if (!strcmp(what, "soft")) {
		l.rlim_max = RLIM_INFINITY;
		CHECK(!setrlimit(RLIMIT_DATA, &l));
	}
	all();
	if (is_executed)
		return finish("limits");
	pid = fork();
	if (!pid) {
		all();
		_exit(3);
	}
	wait_for(pid);
	pid = fork();
	if (!pid) {
		execve(argv[0], args, environ);
		_exit(100);
	}
	wait_for(pid);
	return finish("limits");
}
