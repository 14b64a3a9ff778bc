/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of directories for stores under test. */
#ifndef TESTS_UNIT_LIB_SCRATCH_H
#define TESTS_UNIT_LIB_SCRATCH_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A name that does not exist yet. */
static inline void scratch_name(char *dir, size_t size)
{
	static unsigned int n;
	const char *base = getenv("TMPDIR");

	if (!base)
		base = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
	/* Each source file has its own counter. */
	do
		snprintf(dir, size, "%s/adept-test-%d-%u.dep", base, (int)getpid(), n++);
	while (!access(dir, F_OK));
}

static inline void scratch_remove(const char *dir)
{
	struct dirent *e;
	DIR *d = opendir(dir);

	if (!d)
		return;
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	rmdir(dir);
}

#endif
