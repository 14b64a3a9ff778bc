// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl query: what analyzers find in a store.
 */
#include <stdlib.h>
#include <string.h>

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
	char name[64];
	size_t i;

	for (i = 0; argc > 1 && i < NQUERIES; i++) {
		if (strcmp(argv[1], queries[i].name))
			continue;
		snprintf(name, sizeof(name), "depctl query %s", queries[i].name);
		argv[1] = name;
		return queries[i].run(argc - 1, argv + 1);
	}
	if (argc > 1 && argv[1][0] != '-') {
		warn("there is no query '%s', but: races", argv[1]);
		return EXIT_USAGE;
	}
	parse_args(&argp, argc, argv, 0, NULL);
	warn("say what to query: races");
	return EXIT_USAGE;
}
