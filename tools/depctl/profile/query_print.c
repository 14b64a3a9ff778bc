// SPDX-License-Identifier: GPL-2.0-or-later
/* Print the rows of a query, and what is missing. */
#include <errno.h>
#include <stdlib.h>

#include "tools/depctl/depctl.h"
#include "query.h"

static void end_text(struct query *q)
{
	struct reasons why;
	struct json j;
	size_t i;

	if (q->running)
		reasons_of_running(&why, q->v.p);
	else
		profile_reasons(&q->v, &why);
	if (q->o.form != PROFILE_CSV)
		reasons_add_all(&why, NULL, &q->more);
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
		for (i = 0; i < q->more.n; i++)
			warn("incomplete: %s", q->more.text[i]);
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
	return q->running ? EXIT_FAILURE : profile_status(&q->v) | q->lacks;
}
