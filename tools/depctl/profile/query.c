// SPDX-License-Identifier: GPL-2.0-or-later
/* What all queries of profiles do: options, the store, and what is missing. */
#include <errno.h>
#include <stdlib.h>

#include "tools/depctl/depctl.h"
#include "query.h"

static const struct argp_option options[] = {
	{ "function", OPT_FUNCTION, "PATTERN", 0,
	  "Only functions whose names match PATTERN, such as 'str*'", 2 },
	{ "csv", OPT_CSV, NULL, 0, "Print comma-separated values", 3 },
	{ "live", OPT_LIVE, NULL, 0, "Follow a recording that is still running, and print the rows "
	  "when it ends", 4 },
	{ "every", OPT_EVERY, "TIME", 0, "With --live: also print the rows so far each TIME", 4 },
	{ "socket", OPT_DEPD, "PATH", 0, "With --live: socket of depd", 9 },
	{ 0 }
};

static const struct argp common = { options, profile_parse, NULL, NULL,
	(struct argp_child[]){ { &profile_argp, 0, NULL, 0 }, { 0 } }, NULL, NULL };

/* Options of a single query: the values are those of all queries. */
static error_t parse(int key, char *arg, struct argp_state *state)
{
	if (key == ARGP_KEY_INIT) {
		state->child_inputs[0] = state->input;
		return 0;
	}
	if (key == ARGP_KEY_ARG || key == ARGP_KEY_END)
		return ARGP_ERR_UNKNOWN;
	return profile_parse(key, arg, state);
}

static void end_text(struct query *q)
{
	struct reasons why;
	struct json j;
	size_t i;

	if (q->running)
		reasons_of_running(&why, q->v.p);
	else
		profile_reasons(&q->v, &why);
	switch (q->o.form) {
	case PROFILE_TEXT:
		reasons_text(&q->out, &why, ": ");
		break;
	case PROFILE_JSON:
		json_begin(&j, &q->out);
		json_object(&j, NULL);
		reasons_json(&j, &why);
		json_close(&j, '}');
		json_line(&j);
		break;
	case PROFILE_CSV:
		for (i = 0; i < why.n; i++)
			warn("%s: incomplete: %s", q->o.path, why.text[i]);
	}
}

size_t query_rows(const struct query *q, size_t n)
{
	return q->o.top && q->o.top < n ? (size_t)q->o.top : n;
}

/* Print the rows of each interval. */
static int print_intervals(struct query *q, const struct query_kind *kind)
{
	uint64_t start = dep_store_meta(q->v.store)->start_ns;
	struct dep_interval interval;
	int status = 0, next = 0;

	while (!status && (next = dep_intervals_next(q->v.intervals, &interval)) > 0) {
		q->p = interval.profile;
		q->rows.interval_ns = interval.start_ns - start;
		status = kind->run(q);
	}
	q->p = NULL;
	return next < 0 ? profile_failed(&q->v, next) : status;
}

static int print_rows(struct query *q, const struct query_kind *kind)
{
	int status = kind->begin ? kind->begin(q) : 0;
	struct row_columns c = { 0 };

	if (kind->columns)
		c = kind->columns(q);
	q->p = q->v.p;
	if (!status && c.n)
		status = rows_begin(&q->rows, &q->v, &q->out, c.column, c.n);
	if (!status)
		status = q->v.intervals ? print_intervals(q, kind) : kind->run(q);
	if (!status && c.n)
		status = rows_end(&q->rows);
	if (kind->end)
		kind->end(q);
	if (status == -ENOMEM)
		warn("out of memory");
	return status ? EXIT_FAILURE : 0;
}

int query_print(struct query *q, const struct query_kind *kind)
{
	int status = print_rows(q, kind);

	if (status)
		return status;
	end_text(q);
	return q->running ? EXIT_FAILURE : profile_status(&q->v);
}

static int query_store(struct query *q, const struct query_kind *kind)
{
	int status = profile_open(&q->v, &q->o,
				  kind->needs | (q->o.inclusive ? VIEW_CONTEXTS : 0));

	if (!status)
		status = query_print(q, kind);
	profile_close(&q->v);
	return status;
}

int query_run(const struct query_kind *kind, int argc, char **argv)
{
	const struct argp_child children[] = { { &common, 0, NULL, 0 }, { 0 } };
	const struct argp argp = {
		kind->options, parse, kind->needs & VIEW_CONTEXTS ? "STORE" :
		"STORE\n--live STORE|SESSION", kind->doc, children, NULL, NULL
	};
	struct query *q = calloc(1, sizeof(*q));
	int status;

	if (!q) {
		warn("out of memory");
		return EXIT_FAILURE;
	}
	q->o.min = 0.001;
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
	free(q);
	return status;
}
