/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the programs of test_symbols print: pc NAME ADDRESS, data NAME ADDRESS, and maps. */
#ifndef SYM_PRINT_H
#define SYM_PRINT_H

#include <stdio.h>
#include <string.h>

/* The call's address: what is returned to, less one. */
static __attribute__((noinline, unused)) void mark(const char *name)
{
	printf("pc %s %lx\n", name, (unsigned long)__builtin_return_address(0) - 1);
}

/* After a mark: it shall be a call, even if it is the last thing that is done. */
static inline void no_jump(void)
{
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline, unused)) void show(const char *name, const void *data)
{
	printf("data %s %lx\n", name, (unsigned long)data);
}

/* map START END OFFSET PATH, of what is executable */
static __attribute__((unused)) void maps(void)
{
	char line[4500], perm[8], path[4200];
	unsigned long start, end, offset;
	FILE *f = fopen("/proc/self/maps", "r");
	int n;

	while (f && fgets(line, sizeof(line), f)) {
		path[0] = 0;
		n = sscanf(line, "%lx-%lx %7s %lx %*s %*s %4199[^\n]", &start, &end, perm, &offset,
			   path);
		if (n >= 4 && strchr(perm, 'x'))
			printf("map %lx %lx %lx %s\n", start, end, offset, path);
	}
	if (f)
		fclose(f);
}

#endif
