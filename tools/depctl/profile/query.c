// SPDX-License-Identifier: GPL-2.0-or-later
/* What all queries of profiles do: options and the store. */
#include <stdlib.h>

#include "tools/depctl/depctl.h"
#include "query.h"

static const struct argp_option options[] = {
	{ "function", OPT_FUNCTION, "PATTERN", 0,
	  "Only functions whose names match PATTERN, such as 'str*'", 2 },
	{ "csv", OPT_CSV, NULL, 0, "Print comma-separated values", 3 },
	{ 0 }
};

static const struct argp_option live_options[] = {
	{ "live", OPT_LIVE, NULL, 0, "Follow a recording that is still running, and print the rows "
	  "when it ends", 4 },
	{ "every", OPT_EVERY, "TIME", 0, "With --live: also print the rows so far each TIME", 4 },
	{ "socket", OPT_DEPD, "PATH", 0, "With --live: socket of depd", 9 },
	{ 0 }
};

/* The same of queries that cannot follow a recording: a message says so. */
static const struct argp_option no_live_options[] = {
	{ "live", OPT_LIVE, NULL, OPTION_HIDDEN, NULL, 4 },
	{ "every", OPT_EVERY, "TIME", OPTION_HIDDEN, NULL, 4 },
	{ "socket", OPT_DEPD, "PATH", OPTION_HIDDEN, NULL, 9 },
	{ 0 }
};

static const struct argp common = { options, profile_parse, NULL, NULL,
	(struct argp_child[]){ { &profile_argp, 0, NULL, 0 }, { 0 } }, NULL, NULL };

static error_t parse_live(int key, char *arg, struct argp_state *state)
{
	if (key != OPT_LIVE && key != OPT_EVERY && key != OPT_DEPD)
		return ARGP_ERR_UNKNOWN;
	return profile_parse(key, arg, state);
}

static const struct argp live = { live_options, parse_live, NULL, NULL, NULL, NULL, NULL };
static const struct argp no_live = { no_live_options, parse_live, NULL, NULL, NULL, NULL, NULL };

/* Options of a single query: the values are those of all queries. */
static error_t parse(int key, char *arg, struct argp_state *state)
{
	if (key == ARGP_KEY_INIT) {
		state->child_inputs[0] = state->child_inputs[1] = state->input;
		return 0;
	}
	if (key == ARGP_KEY_ARG || key == ARGP_KEY_END)
		return ARGP_ERR_UNKNOWN;
	return profile_parse(key, arg, state);
}

static int query_store(struct query *q, const struct query_kind *kind)
{
	unsigned int needs = kind->needs | (q->o.inclusive ? VIEW_CONTEXTS : 0);
	int status = profile_open(&q->v, &q->o, q->o.table ? needs & ~VIEW_CONTEXTS : needs);

	if (!status)
		status = query_print(q, kind);
	profile_close(&q->v);
	return status;
}

int query_run(const struct query_kind *kind, int argc, char **argv)
{
	const bool follows = !(kind->needs & (VIEW_CONTEXTS | VIEW_NO_LIVE));
	const struct argp_child children[] = {
		{ &common, 0, NULL, 0 }, { follows ? &live : &no_live, 0, NULL, 0 }, { 0 }
	};
	const struct argp argp = {
		kind->options, parse, follows ? "STORE\n--live STORE|SESSION" :
		kind->many ? "STORE..." : "STORE",
		kind->doc, children, NULL, NULL
	};
	struct query *q = calloc(1, sizeof(*q));
	int status;

	if (!q) {
		warn("out of memory");
		return EXIT_FAILURE;
	}
	q->o.min = 0.001;
	q->o.tables = kind->tables;
	q->o.many = kind->many;
	parse_args(&argp, argc, argv, 0, &q->o);
	out_begin(&q->out);
	if (q->o.form == PROFILE_TEXT)
		out_layout(&q->out);
	if (q->o.live)
		status = query_live(q, kind);
	else
		status = QUERY_COMPLETE;
	if (status == QUERY_COMPLETE)
		status = query_store(q, kind);
	status |= out_end(&q->out);
	free(q->o.more);
	free(q);
	return status;
}
