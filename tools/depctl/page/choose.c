// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions that the page lists: those of the tree, and those with most instructions. */
#include <errno.h>
#include <stdlib.h>

#include "model.h"

/** struct rank - a function; those of the tree come first */
struct rank {
	uint64_t insns;
	uint32_t function;
	bool in_tree;
};

static int first(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->in_tree != y->in_tree)
		return x->in_tree ? -1 : 1;
	if (x->insns != y->insns)
		return x->insns < y->insns ? 1 : -1;
	return (x->function > y->function) - (x->function < y->function);
}

int page_functions_make(const struct page_input *in, const struct page_tree *t,
			struct page_functions *s)
{
	const struct function *f;
	size_t n = functions_all(in->functions, &f), i, in_tree = 0;
	struct rank *rank = calloc(n + 1, sizeof(*rank));
	int ret = -ENOMEM;

	*s = (struct page_functions){ };
	s->number = malloc((n + 1) * sizeof(*s->number));
	s->chosen = malloc((n + 1) * sizeof(*s->chosen));
	if (!rank || !s->number || !s->chosen)
		goto out;
	for (i = 0; i < n; i++) {
		rank[i] = (struct rank){ .function = i, .insns = f[i].inclusive > f[i].insns ?
					 f[i].inclusive : f[i].insns };
		s->number[i] = NO_FUNCTION;
	}
	for (i = 0; i < t->n; i++)
		if (t->node[i].function < n && !rank[t->node[i].function].in_tree) {
			rank[t->node[i].function].in_tree = true;
			in_tree++;
		}
	qsort(rank, n, sizeof(*rank), first);
	for (i = 0; i < n; i++) {
		if (i >= in_tree + PAGE_FUNCTIONS) {
			s->left_out++;
			s->left_insns += f[rank[i].function].insns;
			continue;
		}
		s->number[rank[i].function] = s->n;
		s->chosen[s->n++] = rank[i].function;
	}
	ret = page_pairs_make(in, s);
out:
	free(rank);
	if (ret)
		page_functions_free(s);
	return ret;
}

void page_functions_free(struct page_functions *s)
{
	free(s->number);
	free(s->chosen);
	free(s->pair);
	*s = (struct page_functions){ };
}
