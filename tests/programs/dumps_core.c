// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: first-engine.  dumps_core [HOW]: end with a core dump, as itself, in a forked child
 * (fork), in an image that a child executes (exec), or after asking for a dump of all mappings
 * (dodump).  The functions' names are for gdb.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

__attribute__((noinline)) void innermost(int n)
{
	if (n)
		abort();
}

__attribute__((noinline)) void outermost(int n)
{
	innermost(n + 1);
	__asm__ volatile("");
}

static void dump_all_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char line[4096];

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2)
			madvise((void *)start, end - start, MADV_DODUMP);
	fclose(f);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "none";
	int status;
	pid_t pid;

	if (!strcmp(how, "fork") || !strcmp(how, "exec")) {
		pid = fork();
		CHECK(pid >= 0);
		if (pid) {
			CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
			return WTERMSIG(status);
		}
		if (!strcmp(how, "exec")) {
			execl("/proc/self/exe", "dumps_core", "self", NULL);
			_exit(1);
		}
	}
	if (!strcmp(how, "dodump"))
		dump_all_mappings();
	if (strcmp(how, "none"))
		outermost(argc - 1);
	return finish("dumps_core");
}
