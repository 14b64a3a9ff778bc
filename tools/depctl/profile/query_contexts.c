// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl query contexts: the tree of calling contexts, the hottest first. */
#include <errno.h>
#include <stdlib.h>

#include "query.h"

#define INDENT_MAX	40u	/* levels; deeper ones are not indented further */

/*
 * The tree as it is printed.  What a stub of a PLT called was called by the stub's caller, so a
 * stub has no children.
 */
struct tree {
	uint64_t *self, *inclusive, *calls, *refs;
	uint32_t *parent;
	uint32_t *child, *next;		/* children, sorted; 0: none */
	uint32_t *depth;
	uint32_t *order;
	size_t n;
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

static void tree_free(struct tree *t)
{
	free(t->self);
	free(t->inclusive);
	free(t->calls);
	free(t->refs);
	free(t->parent);
	free(t->child);
	free(t->next);
	free(t->depth);
	free(t->order);
}

static int tree_allocate(struct tree *t, size_t n)
{
	t->n = n;
	t->self = calloc(n + 1, sizeof(*t->self));
	t->inclusive = calloc(n + 1, sizeof(*t->inclusive));
	t->calls = calloc(n + 1, sizeof(*t->calls));
	t->refs = calloc(n + 1, sizeof(*t->refs));
	t->parent = calloc(n + 1, sizeof(*t->parent));
	t->child = calloc(n + 1, sizeof(*t->child));
	t->next = calloc(n + 1, sizeof(*t->next));
	t->depth = calloc(n + 1, sizeof(*t->depth));
	t->order = calloc(n + 1, sizeof(*t->order));
	return t->self && t->inclusive && t->calls && t->refs && t->parent && t->child && t->next &&
	       t->depth && t->order ? 0 : -ENOMEM;
}

static bool is_stub(const struct profile_view *v, uint32_t context)
{
	const struct function *f;
	uint32_t i = functions_of(v->f, context);

	return i < functions_all(v->f, &f) && f[i].stub;
}

static void count(struct tree *t, const struct profile_view *v)
{
	const struct dep_contexts *c = v->c;
	size_t i;

	for (i = 1; i < c->ncontexts; i++) {
		t->self[i] = c->context[i].insns;
		t->calls[i] = c->context[i].calls;
		t->refs[i] = c->context[i].refs;
	}
}

static void link_tree(struct tree *t, const struct profile_view *v)
{
	const struct dep_context *c = v->c->context;
	size_t i, n = 0;
	uint32_t parent, at;

	for (i = 1; i < t->n; i++) {
		parent = c[i].parent < i ? c[i].parent : 0;
		while (parent && is_stub(v, parent))
			parent = t->parent[parent];
		t->parent[i] = parent;
		t->depth[i] = parent ? t->depth[parent] + 1 : 0;
		t->order[n++] = (uint32_t)i;
	}
	for (i = t->n; i-- > 1;) {
		t->inclusive[i] += t->self[i];
		t->inclusive[t->parent[i]] += t->inclusive[i];
	}
	qsort_r(t->order, n, sizeof(*t->order), by_parent, t);
	for (i = n; i-- > 0;) {
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

/* With --function, mark the contexts of these functions, their callers and their callees. */
static bool *choose(const struct query *q, const struct tree *t)
{
	bool *wanted = calloc(t->n + 1, sizeof(*wanted)), *below;
	size_t i;

	below = calloc(t->n + 1, sizeof(*below));
	for (i = 1; wanted && below && i < t->n; i++) {
		below[i] = below[t->parent[i]] ||
			   profile_matches(&q->v, functions_of(q->v.f, (uint32_t)i));
		wanted[i] = below[i];
	}
	for (i = t->n; wanted && below && i-- > 1;)
		wanted[t->parent[i]] |= wanted[i];
	if (!below) {
		free(wanted);
		wanted = NULL;
	}
	free(below);
	return wanted;
}

static void print_tree(struct query *q, const struct tree *t, const bool *wanted)
{
	double least = q->o.min * (double)t->inclusive[0];
	size_t left = query_rows(q, t->n);
	uint32_t i = t->child[0];
	bool put;

	while (i && left) {
		put = wanted[i] && (double)t->inclusive[i] >= least;
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

static int begin(struct query *q)
{
	if (q->o.form == PROFILE_TEXT)
		return rows_begin(&q->rows, &q->v, &q->out, columns,
				  sizeof(columns) / sizeof(*columns));
	return rows_begin(&q->rows, &q->v, &q->out, columns_tree,
			  sizeof(columns_tree) / sizeof(*columns_tree));
}

static int run(struct query *q)
{
	struct tree t = { 0 };
	bool *wanted = NULL;
	int status = tree_allocate(&t, q->v.c->ncontexts ? q->v.c->ncontexts : 1);

	if (!status) {
		count(&t, &q->v);
		link_tree(&t, &q->v);
		wanted = choose(q, &t);
		status = wanted ? begin(q) : -ENOMEM;
	}
	if (!status) {
		print_tree(q, &t, wanted);
		status = rows_end(&q->rows);
	}
	free(wanted);
	tree_free(&t);
	return status;
}

static const struct argp_option options[] = {
	{ "min", OPT_MIN, "SHARE", 0, "Leave out contexts with less than SHARE of all instructions "
	  "(default: 0.1%)", 1 },
	{ 0 }
};

static const struct query_kind kind = {
	.doc = "Print the tree of calling contexts, with the instructions of each context and of "
	       "all that it called, the hottest first.",
	.options = options, .run = run, .needs = VIEW_CONTEXTS | VIEW_NO_COUNTS,
};

int query_contexts(int argc, char **argv)
{
	return query_run(&kind, argc, argv);
}
