// SPDX-License-Identifier: GPL-2.0-or-later
/* Facts about a running process that its store names. */
#include <stdio.h>
#include <sys/personality.h>
#include <unistd.h>

#include "record.h"

bool record_cwd(pid_t pid, char *cwd, size_t size)
{
	char link[32];
	ssize_t n;

	if (!pid)
		return getcwd(cwd, size) != NULL;
	snprintf(link, sizeof(link), "/proc/%d/cwd", pid);
	n = readlink(link, cwd, size - 1);
	if (n < 0)
		return false;
	cwd[n] = '\0';
	return true;
}

static unsigned long personality_of(pid_t pid)
{
	unsigned long how = 0;
	char path[40];
	FILE *f;

	if (!pid)
		return (unsigned long)personality(0xffffffff);
	snprintf(path, sizeof(path), "/proc/%d/personality", pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%lx", &how) != 1)
		how = 0;
	if (f)
		fclose(f);
	return how;
}

bool record_aslr(const struct record_options *o)
{
	return !o->no_aslr && !(personality_of(o->pid) & ADDR_NO_RANDOMIZE);
}
