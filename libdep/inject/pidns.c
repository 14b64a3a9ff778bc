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

u32 dep_pidns_tid(pid_t tid)
{
	char path[64], line[256], *last = NULL;
	u32 found = (u32)tid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "NSpid:", 6))
			continue;
		last = strrchr(line, '\t');
		found = last ? (u32)strtoul(last, NULL, 10) : found;
	}
	if (f)
		fclose(f);
	return found;
}
