// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl query races: which accesses to memory does nothing order?
 */
#include <stdlib.h>
#include <unistd.h>

#include "depctl.h"
#include "query.h"

struct query {
	const char *path;
	struct races_options how;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct query *q = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &q->how;
		return 0;
	default:
		return parse_store(key, arg, state, &q->path, NULL, NULL);
	}
}

static const struct argp_child children[] = { { &races_argp, 0, NULL, 0 }, { 0 } };

static const struct argp argp = {
	NULL, parse, "STORE",
	"Find pairs of accesses to the same memory by different threads, one of them a write, "
	"that nothing orders.", children, NULL, NULL
};

int query_races(int argc, char **argv)
{
	struct query q = { 0 };
	struct races_report *report;
	struct dep_store *store;
	int status = EXIT_FAILURE;
	size_t found = 0;

	parse_args(&argp, argc, argv, 0, &q);
	store = open_store(q.path);
	report = store ? races_report_begin(&q.how) : NULL;
	if (report)
		status = races_report(report, store, q.path, STDOUT_FILENO, &found);
	if (!status && found)
		status = q.how.exit_code;
	races_report_end(report);
	dep_store_close(store);
	free(q.how.suppressions);
	return status;
}
