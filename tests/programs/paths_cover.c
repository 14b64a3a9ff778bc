// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: paths.  paths_cover ABC...: each argument is digits, which say which branches of cover()
 * are taken.
 */
#include <stddef.h>

static volatile int sum;

/* Three decisions, so 8 paths. */
__attribute__((noinline)) static void cover(const char *s)
{
	if (s[0] == '1')
		sum += 1;
	if (s[1] == '1')
		sum += 2;
	if (s[2] == '1')
		sum += 3;
	sum += 4;
}

/* A loop: from the entry or from its head, once more or to the end, by either way. */
__attribute__((noinline)) static void around(const char *s)
{
	do {
		if (*s == '1')
			sum += 5;
		else
			sum -= 6;
	} while (*++s);
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		cover(argv[i]);
		around(argv[i]);
	}
	return 0;
}
