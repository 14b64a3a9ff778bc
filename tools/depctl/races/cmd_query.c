// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl query: what analyzers find in a store.
 */
#include "tools/depctl/depctl.h"
#include "races.h"

static const struct command queries[] = {
	{ "races", query_races, "data races" },
};

#define NQUERIES (sizeof(queries) / sizeof(queries[0]))

static const struct argp argp = {
	NULL, NULL, "races STORE",
	"Ask what is in a store.\v"
	"races  pairs of accesses to the same memory that nothing orders\n\n"
	"`depctl query races --help' tells its options.",
	NULL, NULL, NULL
};

int cmd_query(int argc, char **argv)
{
	int status = run_command(queries, NQUERIES, "depctl query", argc, argv);

	if (status >= 0)
		return status;
	parse_args(&argp, argc, argv, 0, NULL);
	warn("say what to query: races");
	return EXIT_USAGE;
}
