// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdlib.h>

#include "edges.h"

static int by_order(const void *pa, const void *pb)
{
	const struct dep_path_link *a = pa, *b = pb;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->pc != b->pc)
		return a->pc < b->pc ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

static int by_ends(const void *pa, const void *pb)
{
	const struct dep_path_link *a = pa, *b = pb;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return a->kind < b->kind ? -1 : a->kind > b->kind;
}

size_t dep_path_links_unite(struct dep_path_link *edge, size_t n)
{
	size_t i, left = 0;

	if (!n)
		return 0;
	qsort(edge, n, sizeof(*edge), by_ends);
	for (i = 0; i < n; i++) {
		if (left && edge[left - 1].from == edge[i].from && edge[left - 1].to == edge[i].to)
			edge[left - 1].weight += edge[i].weight;
		else
			edge[left++] = edge[i];
	}
	qsort(edge, left, sizeof(*edge), by_order);
	return left;
}
