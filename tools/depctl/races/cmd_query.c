// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl query: run an analyzer on a store.
 */
#include <string.h>

#include "tools/depctl/depctl.h"
#include "races.h"

/* All analyzers.  Help, messages and shell completion use this table. */
static const struct command analyzers[] = {
	{ "races", query_races, "accesses to the same memory that no synchronisation orders" },
};

#define NANALYZERS (sizeof(analyzers) / sizeof(analyzers[0]))

static void usage(FILE *f)
{
	fprintf(f, "Usage: depctl query ANALYZER [OPTION...] STORE\n\n"
		   "Run an analyzer on a store.\n\n");
	print_commands(f, analyzers, NANALYZERS);
	fprintf(f, "\n`depctl query ANALYZER --help' lists the options of ANALYZER; see also "
		   "depctl-query(1).\n");
}

int cmd_query(int argc, char **argv)
{
	int status = run_command(analyzers, NANALYZERS, "depctl query", argc, argv);

	if (status >= 0)
		return status;
	if (argc < 2) {
		warn("which analyzer?");
		usage(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help")) {
		warn("depctl query has no option '%s'; `depctl query --help' lists the analyzers",
		     argv[1]);
		return EXIT_USAGE;
	}
	usage(stdout);
	return 0;
}
