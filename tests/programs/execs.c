// SPDX-License-Identifier: GPL-2.0-or-later
/* Suite: exact.  An execve that fails, then a chain of execves of itself. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common.h"

int main(int argc, char **argv)
{
	char *next[] = { argv[0], argc > 1 ? argv[1] + 1 : "321", NULL };
	char *env[] = { "A=1", NULL };

	CHECK(execve("/nonexistent", next, env) == -1 && errno == ENOENT);
	if (*next[1])
		execve("/proc/self/exe", next, env);
	puts("execs: end of the chain");
	return *next[1] != 0;
}
