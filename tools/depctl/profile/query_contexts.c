// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl query contexts: the tree of calling contexts, the hottest first. */
#include <errno.h>
#include <stdlib.h>

#include "query.h"

#define INDENT_MAX	40u	/* levels; deeper ones are not indented further */

/*
 * The tree as it is printed.  What a stub of a PLT called was called by the stub's caller, so a
 * stub has no children.
 *
 * The counts are those of the whole recording, or of the current interval.  Only contexts that are
 * used in it have counts and children: an interval costs nothing for the others.
 */
struct tree {
	uint32_t *parent, *depth;
	bool *matches;			/* --function selects it by its name */
	uint64_t *self, *inclusive, *calls, *refs;
	uint32_t *child, *next;		/* children, sorted; 0: none */
	bool *used, *wanted;
	uint32_t *order;		/* those that are used, but the root */
	size_t n, norder;
};

static int by_parent(const void *pa, const void *pb, void *arg)
{
	const struct tree *t = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;

	if (t->parent[a] != t->parent[b])
		return t->parent[a] < t->parent[b] ? -1 : 1;
	if (t->inclusive[a] != t->inclusive[b])
		return t->inclusive[a] > t->inclusive[b] ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int by_number(const void *pa, const void *pb)
{
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;

	return a < b ? -1 : a > b;
}

static void tree_free(struct tree *t)
{
	free(t->parent);
	free(t->depth);
	free(t->matches);
	free(t->self);
	free(t->inclusive);
	free(t->calls);
	free(t->refs);
	free(t->child);
	free(t->next);
	free(t->used);
	free(t->wanted);
	free(t->order);
}

static int tree_allocate(struct tree *t, size_t n)
{
	t->n = n;
	t->parent = calloc(n + 1, sizeof(*t->parent));
	t->depth = calloc(n + 1, sizeof(*t->depth));
	t->matches = calloc(n + 1, sizeof(*t->matches));
	t->self = calloc(n + 1, sizeof(*t->self));
	t->inclusive = calloc(n + 1, sizeof(*t->inclusive));
	t->calls = calloc(n + 1, sizeof(*t->calls));
	t->refs = calloc(n + 1, sizeof(*t->refs));
	t->child = calloc(n + 1, sizeof(*t->child));
	t->next = calloc(n + 1, sizeof(*t->next));
	t->used = calloc(n + 1, sizeof(*t->used));
	t->wanted = calloc(n + 1, sizeof(*t->wanted));
	t->order = calloc(n + 1, sizeof(*t->order));
	return t->parent && t->depth && t->matches && t->self && t->inclusive && t->calls &&
	       t->refs && t->child && t->next && t->used && t->wanted && t->order ? 0 : -ENOMEM;
}

static bool is_stub(const struct profile_view *v, uint32_t context)
{
	const struct function *f;
	uint32_t i = functions_of(v->f, context);

	return i < functions_all(v->f, &f) && f[i].stub;
}

/* What is the same in all intervals. */
static void find_parents(struct tree *t, const struct profile_view *v)
{
	const struct dep_context *c = v->c->context;
	uint32_t parent;
	size_t i;

	for (i = 1; i < t->n; i++) {
		parent = c[i].parent < i ? c[i].parent : 0;
		while (parent && is_stub(v, parent))
			parent = t->parent[parent];
		t->parent[i] = parent;
		t->depth[i] = parent ? t->depth[parent] + 1 : 0;
		t->matches[i] = profile_matches(v, functions_of(v->f, (uint32_t)i));
	}
}

/* Mark a context and its callers. */
static void use(struct tree *t, uint32_t context)
{
	for (; context && !t->used[context]; context = t->parent[context]) {
		t->used[context] = true;
		t->order[t->norder++] = context;
	}
}

static void count_whole(struct tree *t, const struct dep_contexts *c)
{
	size_t i;

	for (i = 1; i < c->ncontexts; i++) {
		t->self[i] = c->context[i].insns;
		t->calls[i] = c->context[i].calls;
		t->refs[i] = c->context[i].refs;
		use(t, (uint32_t)i);
	}
}

/* Forget the counts before, and take those of the interval that begins with row @i. */
static size_t count_interval(struct tree *t, const struct dep_contexts *c, size_t i)
{
	const struct dep_context_interval *r = c->interval;
	uint64_t start = r[i].start_ns;
	uint32_t at;

	t->inclusive[0] = t->child[0] = 0;
	while (t->norder) {
		at = t->order[--t->norder];
		t->self[at] = t->inclusive[at] = t->calls[at] = t->refs[at] = 0;
		t->child[at] = t->next[at] = 0;
		t->used[at] = t->wanted[at] = false;
	}
	for (; i < c->nintervals && r[i].start_ns == start; i++) {
		/* Context 0 is no function, and has no row. */
		if (!r[i].context)
			continue;
		t->self[r[i].context] = r[i].insns;
		t->calls[r[i].context] = r[i].calls;
		t->refs[r[i].context] = r[i].refs;
		use(t, r[i].context);
	}
	return i;
}

/*
 * With --function, those are wanted that match, their callers and their callees.  Callers have
 * smaller numbers.
 */
static void choose(struct tree *t)
{
	uint32_t at;
	size_t i;

	for (i = 0; i < t->norder; i++) {
		at = t->order[i];
		t->wanted[at] = t->matches[at] || (t->parent[at] && t->wanted[t->parent[at]]);
	}
	for (i = t->norder; i-- > 0;)
		if (t->wanted[t->order[i]])
			t->wanted[t->parent[t->order[i]]] = true;
}

static void link_tree(struct tree *t)
{
	uint32_t at;
	size_t i;

	qsort(t->order, t->norder, sizeof(*t->order), by_number);
	for (i = t->norder; i-- > 0;) {
		at = t->order[i];
		t->inclusive[at] += t->self[at];
		t->inclusive[t->parent[at]] += t->inclusive[at];
	}
	choose(t);
	qsort_r(t->order, t->norder, sizeof(*t->order), by_parent, t);
	for (i = t->norder; i-- > 0;) {
		at = t->order[i];
		t->next[at] = t->child[t->parent[at]];
		t->child[t->parent[at]] = at;
	}
}

static const struct row_column columns[] = {
	{ "inclusive_share", "incl", ROW_SHARE },
	{ "inclusive_instructions", "incl insns", ROW_COUNT },
	{ "instructions", "self insns", ROW_COUNT },
	{ "references", "refs", ROW_COUNT },
	{ "calls", "calls", ROW_COUNT },
	{ "entry", "kind", ROW_TEXT },
	{ "at", "function", ROW_SITE },
};

/* Columns that only JSON and CSV have: the tree, and the call. */
static const struct row_column columns_tree[] = {
	{ "context", "", ROW_COUNT },
	{ "parent_context", "", ROW_COUNT },
	{ "depth", "", ROW_COUNT },
	{ "inclusive_share", "", ROW_SHARE },
	{ "inclusive_instructions", "", ROW_COUNT },
	{ "instructions", "", ROW_COUNT },
	{ "references", "", ROW_COUNT },
	{ "calls", "", ROW_COUNT },
	{ "entry", "", ROW_TEXT },
	{ "site", "", ROW_SITE },
	{ "at", "", ROW_SITE },
};

static const char *const entries[DEP_CONTEXT_KINDS] = {
	"root", "start", "call", "tail-call", "signal", "thread",
};

static void put_row(struct query *q, const struct tree *t, uint32_t i)
{
	const struct dep_context *c = &q->v.c->context[i];
	struct site at = functions_site(q->v.f, c->process, c->image, c->pc);
	struct site site = { 0, NO_FUNCTION };
	struct rows *r = &q->rows;

	if (q->o.form != PROFILE_TEXT) {
		row_count(r, i);
		row_count(r, t->parent[i]);
		row_count(r, t->depth[i]);
	}
	row_share(r, t->inclusive[i], t->inclusive[0]);
	row_count(r, t->inclusive[i]);
	row_count(r, t->self[i]);
	row_count(r, t->refs[i]);
	row_count(r, t->calls[i]);
	row_text(r, c->guess ? "guess" : c->kind < DEP_CONTEXT_KINDS ? entries[c->kind] : NULL);
	if (q->o.form != PROFILE_TEXT) {
		if (c->site)
			site = functions_site(q->v.f, c->process, c->site_image, c->site);
		row_site(r, site);
	}
	row_function(r, functions_of(q->v.f, i), at,
		     2 * (t->depth[i] < INDENT_MAX ? t->depth[i] : INDENT_MAX));
}

static void print_tree(struct query *q, const struct tree *t)
{
	double least = q->o.min * (double)t->inclusive[0];
	size_t left = query_rows(q, t->n);
	uint32_t i = t->child[0];
	bool put;

	while (i && left) {
		put = t->wanted[i] && (double)t->inclusive[i] >= least;
		if (put) {
			put_row(q, t, i);
			left--;
		}
		if (put && t->child[i]) {
			i = t->child[i];
			continue;
		}
		while (i && !t->next[i])
			i = t->parent[i];
		i = t->next[i];
	}
}

static struct row_columns columns_of(const struct query *q)
{
	if (q->o.table)
		return encoding_columns(q);
	if (q->o.form == PROFILE_TEXT)
		return ROW_COLUMNS(columns);
	return ROW_COLUMNS(columns_tree);
}

static void print_intervals(struct query *q, struct tree *t)
{
	uint64_t start = dep_store_meta(q->v.store)->start_ns;
	const struct dep_contexts *c = q->v.c;
	size_t i = 0;

	while (i < c->nintervals) {
		q->rows.interval_ns = c->interval[i].start_ns - start;
		i = count_interval(t, c, i);
		link_tree(t);
		print_tree(q, t);
	}
}

static int run(struct query *q)
{
	struct tree t = { 0 };
	int err;

	if (q->o.table)
		return encoding_run(q);
	err = tree_allocate(&t, q->v.c->ncontexts ? q->v.c->ncontexts : 1);
	if (!err) {
		find_parents(&t, &q->v);
		if (q->o.per_ns) {
			print_intervals(q, &t);
		} else {
			count_whole(&t, q->v.c);
			link_tree(&t);
			print_tree(q, &t);
		}
	}
	tree_free(&t);
	return err;
}

static const struct argp_option options[] = {
	{ "min", OPT_MIN, "SHARE", 0, "Leave out contexts with less than SHARE of all instructions "
	  "(default: 0.1%)", 1 },
	{ "table", OPT_TABLE, "encoding", 0, "Print what encoding the contexts as numbers needs "
	  "(DACCE), instead of the tree", 1 },
	QUERY_PER,
	PROFILE_MEMORY("stacks and contexts"),
	{ 0 }
};

static const struct query_kind kind = {
	.doc = "Print the tree of calling contexts, with the instructions of each context and of "
	       "all that it called, the hottest first.",
	.options = options, .run = run, .columns = columns_of,
	.needs = VIEW_CONTEXTS | VIEW_NO_COUNTS, .tables = "encoding",
};

int query_contexts(int argc, char **argv)
{
	return query_run(&kind, argc, argv);
}
