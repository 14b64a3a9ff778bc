// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl query calls and pairs: which function, or which instruction, calls which function. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query.h"

/* How a function was entered. */
enum how { BY_CALL, BY_CALL_INDIRECT, BY_TAIL_CALL, BY_START };

static const char *const how_names[] = { "call", "call-indirect", "tail-call", "start" };

struct call {
	uint32_t caller, callee;	/* functions; a stub counts as its target */
	uint32_t how;
	uint64_t count;
	struct site site, target;	/* of pairs */
};

struct calls {
	struct call *call;
	size_t n;
	uint64_t all;
};

/**
 * struct whole - what the whole profile tells, by function; intervals have the same
 * @reached: a stub has it as its target
 * @resolver: stubs jump to it that have another target: a part of the loader
 */
struct whole {
	bool *reached, *resolver;
};

static bool is_stub(const struct profile_view *v, uint32_t i)
{
	const struct function *f;

	return i < functions_all(v->f, &f) && f[i].stub;
}

/* Has a stub the target @i?  Then the loader's jump to it ends a call that was counted there. */
static bool *reached_by_stub(const struct profile_view *v)
{
	const struct function *f;
	size_t i, n = functions_all(v->f, &f);
	bool *reached = calloc(n + 1, sizeof(*reached));

	for (i = 0; reached && i < n; i++)
		if (f[i].stub)
			reached[functions_target(v->f, (uint32_t)i)] = true;
	return reached;
}

/* The functions to which stubs jump that have no target of their own: the loader's resolver. */
static bool *find_resolvers(const struct profile_view *v, const struct merged *m)
{
	const struct function *f;
	bool *resolver = calloc(functions_all(v->f, &f) + 1, sizeof(*resolver));
	uint32_t from, to;
	size_t i;

	for (i = 0; resolver && i < m->nedges; i++) {
		if (m->edge[i].kind != DEP_BRANCH_JUMP_INDIRECT)
			continue;
		from = functions_in(v->f, m->edge[i].from);
		to = functions_in(v->f, m->edge[i].to);
		if (from != NO_FUNCTION && to != NO_FUNCTION && f[from].stub && !f[to].stub &&
		    functions_target(v->f, from) != to)
			resolver[to] = true;
	}
	return resolver;
}

/* Describe the call that @e is; false: it is none, or part of one that is counted elsewhere. */
static bool call_of(const struct profile_view *v, const struct edge_row *e,
		    const struct whole *w, struct call *c)
{
	bool start;

	*c = (struct call){ .caller = functions_in(v->f, e->from), .count = e->count,
			    .callee = functions_in(v->f, e->to), .site = e->from, .target = e->to };
	start = c->callee != NO_FUNCTION &&
		!site_compare(functions_start(v->f, c->callee), e->to);
	switch (e->kind) {
	case DEP_BRANCH_CALL:
		c->how = BY_CALL;
		break;
	case DEP_BRANCH_CALL_INDIRECT:
		c->how = BY_CALL_INDIRECT;
		break;
	case DEP_EDGE_ENTERED:
		c->how = BY_START;
		return start;
	case DEP_EDGE_LEFT:
		return false;
	default:
		c->how = BY_TAIL_CALL;
		if (!start || c->caller == c->callee || is_stub(v, c->caller) ||
		    (c->caller != NO_FUNCTION && w->resolver[c->caller] && w->reached[c->callee]))
			return false;
	}
	if (start)
		c->callee = functions_target(v->f, c->callee);
	/* A call to the next instruction or within the function is none of a function. */
	return start || c->caller != c->callee;
}

static int by_functions(const void *pa, const void *pb)
{
	const struct call *a = pa, *b = pb;

	if (a->caller != b->caller)
		return a->caller < b->caller ? -1 : 1;
	if (a->callee != b->callee)
		return a->callee < b->callee ? -1 : 1;
	return (int)a->how - (int)b->how;
}

static int by_count(const void *pa, const void *pb)
{
	const struct call *a = pa, *b = pb;
	int d;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	d = by_functions(a, b);
	if (!d)
		d = site_compare(a->site, b->site);
	return d ? d : site_compare(a->target, b->target);
}

/* Add up the calls between the same functions. */
static void add_up(struct calls *c)
{
	size_t i, k = 0;

	qsort(c->call, c->n, sizeof(*c->call), by_functions);
	for (i = 0; i < c->n; i++) {
		if (k && !by_functions(&c->call[k - 1], &c->call[i]))
			c->call[k - 1].count += c->call[i].count;
		else
			c->call[k++] = c->call[i];
	}
	c->n = k;
}

static bool is_wanted(const struct query *q, const struct call *c)
{
	return profile_matches(&q->v, c->caller) || profile_matches(&q->v, c->callee);
}

static int collect(struct query *q, struct calls *c, bool pairs)
{
	struct merged m;
	struct call one;
	int err = merged_make(&m, &q->v, q->p);
	size_t i;

	if (!err) {
		c->call = calloc(m.nedges + 1, sizeof(*c->call));
		err = c->call ? 0 : -ENOMEM;
	}
	for (i = 0; !err && i < m.nedges; i++) {
		if (pairs && m.edge[i].kind != DEP_BRANCH_CALL &&
		    m.edge[i].kind != DEP_BRANCH_CALL_INDIRECT)
			continue;
		if (!call_of(&q->v, &m.edge[i], q->whole, &one) && !pairs)
			continue;
		c->all += one.count;
		if (is_wanted(q, &one))
			c->call[c->n++] = one;
	}
	if (!err && !pairs)
		add_up(c);
	merged_free(&m);
	return err;
}

static int begin(struct query *q)
{
	struct whole *w = calloc(1, sizeof(*w));
	struct merged m;
	int err;

	q->whole = w;
	if (!w)
		return -ENOMEM;
	err = merged_make(&m, &q->v, q->v.p);
	if (!err) {
		w->reached = reached_by_stub(&q->v);
		w->resolver = find_resolvers(&q->v, &m);
		err = w->reached && w->resolver ? 0 : -ENOMEM;
	}
	merged_free(&m);
	return err;
}

static void end(struct query *q)
{
	struct whole *w = q->whole;

	if (w) {
		free(w->reached);
		free(w->resolver);
	}
	free(w);
}

static const struct row_column call_columns[] = {
	{ "share", "share", ROW_SHARE },
	{ "calls", "calls", ROW_COUNT },
	{ "branch", "kind", ROW_TEXT },
	{ "caller", "caller", ROW_SITE },
	{ "callee", "callee", ROW_SITE },
};

static const struct row_column pair_columns[] = {
	{ "share", "share", ROW_SHARE },
	{ "calls", "calls", ROW_COUNT },
	{ "branch", "kind", ROW_TEXT },
	{ "site", "call site", ROW_SITE },
	{ "target", "target", ROW_SITE },
};

static void put_row(struct query *q, const struct calls *c, const struct call *call, bool pairs)
{
	row_share(&q->rows, call->count, c->all);
	row_count(&q->rows, call->count);
	row_text(&q->rows, how_names[call->how]);
	row_site(&q->rows, pairs ? call->site : functions_start(q->v.f, call->caller));
	row_site(&q->rows, pairs ? call->target : functions_start(q->v.f, call->callee));
}

static int print(struct query *q, bool pairs)
{
	struct calls c = { 0 };
	size_t i, n;
	int status = collect(q, &c, pairs);

	if (!status)
		qsort(c.call, c.n, sizeof(*c.call), by_count);
	n = query_rows(q, c.n);
	for (i = 0; i < n && !status; i++)
		put_row(q, &c, &c.call[i], pairs);
	free(c.call);
	return status;
}

static struct row_columns columns_of_calls(const struct query *q)
{
	(void)q;
	return ROW_COLUMNS(call_columns);
}

static struct row_columns columns_of_pairs(const struct query *q)
{
	(void)q;
	return ROW_COLUMNS(pair_columns);
}

static int run_calls(struct query *q)
{
	return print(q, false);
}

static int run_pairs(struct query *q)
{
	return print(q, true);
}

static const struct argp_option options[] = { QUERY_PER, { 0 } };

static const struct query_kind calls_kind = {
	.doc = "Print which function calls which, and how often. Calls through a PLT are calls of "
	       "the function that is reached.",
	.options = options, .run = run_calls, .columns = columns_of_calls, .begin = begin,
	.end = end,
};

static const struct query_kind pairs_kind = {
	.doc = "Print the targets of each call instruction, and how often it called each.",
	.options = options, .run = run_pairs, .columns = columns_of_pairs, .begin = begin,
	.end = end,
};

int query_calls(int argc, char **argv)
{
	return query_run(&calls_kind, argc, argv);
}

int query_pairs(int argc, char **argv)
{
	return query_run(&pairs_kind, argc, argv);
}
