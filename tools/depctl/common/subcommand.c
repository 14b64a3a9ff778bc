// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Commands that have subcommands: look up names, print help, suggest names for mistyped ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"

#define NAME_MAX_BYTES	16u	/* length limit of compared names; all commands are shorter */
#define NAME_SLIPS	2u	/* maximum number of wrong letters in a mistyped name */

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* Edit distance of @a and @b: letters changed, added, removed, or swapped with the next letter. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int d[NAME_MAX_BYTES + 1][NAME_MAX_BYTES + 1];
	size_t n = strlen(a), m = strlen(b), i, k;

	if (n > NAME_MAX_BYTES || m > NAME_MAX_BYTES)
		return NAME_MAX_BYTES;
	for (i = 0; i <= n; i++)
		d[i][0] = i;
	for (k = 0; k <= m; k++)
		d[0][k] = k;
	for (i = 1; i <= n; i++) {
		for (k = 1; k <= m; k++) {
			d[i][k] = d[i - 1][k - 1] + (a[i - 1] != b[k - 1]);
			d[i][k] = least(d[i][k], least(d[i - 1][k], d[i][k - 1]) + 1);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
		}
	}
	return d[n][m];
}

/* The command with the smallest distance from @name, or NULL if all distances are too large. */
static const char *nearest(const struct command *commands, size_t n, const char *name)
{
	unsigned int best = NAME_SLIPS + 1, d;
	const char *found = NULL;
	size_t i;

	for (i = 0; i < n; i++) {
		d = distance(name, commands[i].name);
		/* Suggest only a command with at least one right letter. */
		if (d < best && d < strlen(commands[i].name)) {
			best = d;
			found = commands[i].name;
		}
	}
	return found;
}

static void unknown(const struct command *commands, size_t n, const char *of, const char *name)
{
	const char *meant = nearest(commands, n, name);

	if (meant)
		warn("%s has no command '%s'; did you mean '%s'?", of, name, meant);
	else
		warn("%s has no command '%s'; `%s --help' lists its commands", of, name, of);
}

void print_commands(FILE *f, const struct command *commands, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		fprintf(f, "  %-8s %s\n", commands[i].name, commands[i].summary);
}

int run_command(const struct command *commands, size_t n, const char *of, int argc, char **argv)
{
	char name[64];
	size_t i;

	if (argc < 2 || argv[1][0] == '-')
		return -1;
	for (i = 0; i < n; i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		snprintf(name, sizeof(name), "%s %s", of, commands[i].name);
		argv[1] = name;
		if (argc > 2 && !strcmp(argv[2], "-h"))
			argv[2] = "--help";
		return commands[i].run(argc - 1, argv + 1);
	}
	unknown(commands, n, of, argv[1]);
	return EXIT_USAGE;
}
