// SPDX-License-Identifier: LGPL-2.1-or-later
/* Sort the contexts: the result does not depend on the order in which they were found. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "tree.h"

#define BY(member)						\
	do {							\
		if (a->member != b->member)			\
			return a->member < b->member ? -1 : 1;	\
	} while (0)

/* Order of the children of one context. */
static int order_nodes(const void *x, const void *y, void *arg)
{
	const struct dep_node *node = arg;
	const struct dep_node *a = node + *(const u32 *)x, *b = node + *(const u32 *)y;

	BY(process);
	BY(site);
	BY(pc);
	BY(kind);
	BY(image);
	return 0;
}

static int order_shares(const void *x, const void *y)
{
	const struct dep_context_share *a = x, *b = y;

	BY(thread);
	BY(context);
	return 0;
}

static int order_times(const void *x, const void *y)
{
	const struct dep_context_time *a = x, *b = y;

	BY(start_ns);
	BY(thread);
	BY(context);
	return 0;
}

static int order_intervals(const void *x, const void *y)
{
	const struct dep_context_interval *a = x, *b = y;

	BY(start_ns);
	BY(context);
	return 0;
}

/*
 * List all contexts but the root by parent, and sort those of each parent.
 * @first: receives the index of each context's first child, and at the end their number
 */
static void sort_children(const struct dep_tree *t, u32 *sorted, u32 *first)
{
	u32 i, n;

	for (i = 1; i < t->n; i++)
		first[t->node[i].parent + 1]++;
	for (i = 1; i <= t->n; i++)
		first[i] += first[i - 1];
	/* Each context advances its parent's index, which is set back below. */
	for (i = 1; i < t->n; i++)
		sorted[first[t->node[i].parent]++] = i;
	for (i = t->n; i > 0; i--)
		first[i] = first[i - 1];
	first[0] = 0;
	for (i = 0; i < t->n; i++) {
		n = first[i + 1] - first[i];
		if (n > 1)
			qsort_r(sorted + first[i], n, sizeof(*sorted), order_nodes, t->node);
	}
}

/*
 * Number the contexts in preorder.
 * @sorted: all but the root, by parent and then as children are sorted
 * @first: index in @sorted of each context's first child, and at the end their number
 * @place: receives the new number of each context
 * @stack: room for all of them
 */
static void number(const u32 *sorted, const u32 *first, u32 *place, u32 *stack)
{
	u32 next = 0, depth = 0, at, i;

	stack[depth++] = 0;
	while (depth) {
		at = stack[--depth];
		place[at] = next++;
		for (i = first[at + 1]; i > first[at]; i--)
			stack[depth++] = sorted[i - 1];
	}
}

static void fill(const struct dep_tree *t, const u32 *place, struct dep_context *to)
{
	const struct dep_node *node;
	u32 i;

	for (i = 0; i < t->n; i++) {
		node = t->node + i;
		to[place[i]] = (struct dep_context){
			.parent = place[node->parent], .kind = node->kind,
			.incomplete = node->incomplete, .guess = node->guess,
			.process = node->process, .image = node->image,
			.site_image = node->site_image, .pc = node->pc,
			.site = node->site, .calls = node->all_calls, .insns = node->all_insns,
			.refs = node->all_refs,
		};
	}
}

static void renumber_rows(struct dep_tree *t, const u32 *place)
{
	size_t i;

	for (i = 0; i < t->nshares; i++)
		t->share[i].context = place[t->share[i].context];
	for (i = 0; i < t->ntimes; i++)
		t->time[i].context = place[t->time[i].context];
	for (i = 0; i < t->intervals.n; i++)
		t->intervals.row[i].context = place[t->intervals.row[i].context];
	if (t->nshares)
		qsort(t->share, t->nshares, sizeof(*t->share), order_shares);
	if (t->ntimes)
		qsort(t->time, t->ntimes, sizeof(*t->time), order_times);
	if (t->intervals.n)
		qsort(t->intervals.row, t->intervals.n, sizeof(*t->intervals.row),
		      order_intervals);
}

int dep_tree_result(struct dep_tree *t, struct dep_contexts *out)
{
	u32 *sorted = malloc(4ull * t->n), *first = calloc(t->n + 2ull, 4);
	u32 *place = malloc(4ull * t->n), *stack = malloc(4ull * t->n);
	struct dep_context *context = malloc(sizeof(*context) * (u64)t->n);
	int err = -ENOMEM;

	if (!sorted || !first || !place || !stack || !context)
		goto out;
	sort_children(t, sorted, first);
	number(sorted, first, place, stack);
	fill(t, place, context);
	renumber_rows(t, place);
	out->context = context;
	out->ncontexts = t->n;
	out->share = t->share;
	out->nshares = t->nshares;
	out->time = t->time;
	out->ntimes = t->ntimes;
	out->interval = t->intervals.row;
	out->nintervals = t->intervals.n;
	out->not_counted = t->not_counted;
	t->share = NULL;
	t->time = NULL;
	t->intervals.row = NULL;
	context = NULL;
	err = 0;
out:
	free(sorted);
	free(first);
	free(place);
	free(stack);
	free(context);
	return err ? dep_fail(err, "contexts") : 0;
}
