// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl query: ask a question about a store.
 */
#include <string.h>

#include "depctl.h"
#include "profile/queries.h"
#include "races/races.h"

/* All queries.  Help, messages and shell completion use this table. */
static const struct command queries[] = {
	{ "races", query_races, "accesses to the same memory that no synchronisation orders" },
	{ "methods", query_methods, "functions by the instructions that they executed" },
	{ "calls", query_calls, "which function calls which, and how often" },
	{ "pairs", query_pairs, "the targets of each call instruction" },
	{ "contexts", query_contexts, "tree of calls with the instructions of each path" },
	{ "edges", query_edges, "how often each branch went to each target" },
	{ "blocks", query_blocks, "basic blocks by the instructions that they executed" },
	{ "coverage", query_coverage, "which part of each function or source file was executed" },
	{ "paths", query_paths, "paths through functions by the instructions that they executed" },
	{ "streams", query_streams, "data that is referred to again and again in the same order" },
};

#define NQUERIES (sizeof(queries) / sizeof(queries[0]))

static void usage(FILE *f)
{
	fprintf(f, "Usage: depctl query KIND [OPTION...] STORE\n\n"
		   "Ask a question about a store.\n\n");
	print_commands(f, queries, NQUERIES);
	fprintf(f, "\n`depctl query KIND --help' lists the options of KIND; see also "
		   "depctl-query(1).\n");
}

int cmd_query(int argc, char **argv)
{
	int status = run_command(queries, NQUERIES, "depctl query", argc, argv);

	if (status >= 0)
		return status;
	if (argc < 2) {
		warn("which query?");
		usage(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help")) {
		warn("depctl query has no option '%s'; `depctl query --help' lists the queries",
		     argv[1]);
		return EXIT_USAGE;
	}
	usage(stdout);
	return 0;
}
