// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * refcmp: are two reference listings equal?
 *
 *	refcmp [-v START-END] EXPECTED GOT
 *
 * Compares pc, address, size and type of line after line.  Of each listing only
 * the lines of the thread of its first line count.  References made at a pc within
 * START-END are left out of both: the vdso's, whose loops depend on the clock.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct listing {
	const char *name;
	FILE *f;
	char line[256];
	unsigned long tid, number, count;
	char tail[4][256];	/* the last lines, for context */
};

static unsigned long skip_start, skip_end;

static bool next(struct listing *l)
{
	unsigned long tid, pc;
	char *end;

	while (fgets(l->line, sizeof(l->line), l->f)) {
		l->number++;
		tid = strtoul(l->line, &end, 10);
		if (end == l->line || *end != ' ') {
			fprintf(stderr, "%s:%lu: not a reference: %s", l->name, l->number,
				l->line);
			exit(2);
		}
		if (!l->tid)
			l->tid = tid;
		pc = strtoul(end, NULL, 16);
		if (tid != l->tid || (pc >= skip_start && pc < skip_end))
			continue;
		memmove(l->line, end + 1, strlen(end + 1) + 1);
		strcpy(l->tail[l->count++ & 3], l->line);
		return true;
	}
	l->line[0] = 0;
	return false;
}

static void show(const struct listing *l)
{
	unsigned long i, n = l->count < 4 ? l->count : 4;

	printf("  %s, line %lu:\n", l->name, l->number);
	for (i = l->count - n; i < l->count; i++)
		printf("    %s", l->tail[i & 3]);
	if (!l->line[0])
		printf("    (end)\n");
}

static void open_listing(struct listing *l, const char *name)
{
	l->name = name;
	l->f = fopen(name, "r");
	if (!l->f) {
		fprintf(stderr, "refcmp: %s: %s\n", name, strerror(errno));
		exit(2);
	}
}

int main(int argc, char **argv)
{
	static struct listing a, b;
	bool more_a, more_b;

	if (argc == 5 && !strcmp(argv[1], "-v")) {
		if (sscanf(argv[2], "%lx-%lx", &skip_start, &skip_end) != 2)
			return 2;
		argv += 2;
		argc -= 2;
	}
	if (argc != 3) {
		fputs("usage: refcmp [-v START-END] EXPECTED GOT\n", stderr);
		return 2;
	}
	open_listing(&a, argv[1]);
	open_listing(&b, argv[2]);
	do {
		more_a = next(&a);
		more_b = next(&b);
		if (more_a != more_b || strcmp(a.line, b.line)) {
			printf("reference %lu differs\n", a.count);
			show(&a);
			show(&b);
			return 1;
		}
	} while (more_a);
	if (!a.count) {
		puts("no references at all");
		return 1;
	}
	printf("%lu references equal\n", a.count);
	return 0;
}
