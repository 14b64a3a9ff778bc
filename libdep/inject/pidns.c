// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Pid namespaces of processes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"

/* Is namespace @name of the process the caller's pid namespace? */
static bool is_ours(pid_t pid, const char *name)
{
	struct stat own, other;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
	/* The namespace for children does not exist until the first child does. */
	return !stat("/proc/self/ns/pid", &own) && !stat(path, &other) &&
	       own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

u32 dep_pidns_of(pid_t pid)
{
	return (is_ours(pid, "pid") ? 0 : ADEPT_NS_TIDS) |
	       (is_ours(pid, "pid_for_children") ? 0 : ADEPT_NS_CHILDREN);
}

u32 dep_pidns_number(u32 id, u32 *depth)
{
	char path[64], line[512], *p, *end;
	unsigned long n, last = 0;
	FILE *f;

	*depth = 0;
	snprintf(path, sizeof(path), "/proc/%u/status", id);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "NSpid:", 6))
			continue;
		for (p = line + 6; n = strtoul(p, &end, 10), end != p; p = end) {
			last = n;
			++*depth;
		}
		break;
	}
	fclose(f);
	return (u32)last;
}
