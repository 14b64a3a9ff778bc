// SPDX-License-Identifier: GPL-2.0-or-later
/* Basic blocks of the executed code. */
#include <errno.h>
#include <stdlib.h>

#include "profile.h"

/* Mark the instructions at which a block begins. */
static void mark_leaders(bool *leader, const struct merged *m)
{
	const struct insn_row *r = m->insn;
	size_t i, k;

	for (i = 0; i < m->ninsns; i++)
		leader[i] = !i || r[i].at.unit != r[i - 1].at.unit ||
			    r[i].at.addr != r[i - 1].at.addr + r[i - 1].size ||
			    r[i - 1].branch != DEP_BRANCH_NONE;
	for (i = 0; i < m->nedges; i++) {
		k = merged_at(m, m->edge[i].kind == DEP_EDGE_LEFT ? m->edge[i].from :
			      m->edge[i].to);
		if (k < m->ninsns)
			leader[k] = true;
	}
}

int blocks_make(struct blocks *b, const struct merged *m)
{
	bool *leader = calloc(m->ninsns + 1, sizeof(*leader));
	size_t i;

	*b = (struct blocks){ 0 };
	if (!leader)
		return -ENOMEM;
	mark_leaders(leader, m);
	for (i = 0; i < m->ninsns; i++)
		b->n += leader[i];
	b->block = calloc(b->n + 1, sizeof(*b->block));
	if (!b->block) {
		free(leader);
		return -ENOMEM;
	}
	b->n = 0;
	for (i = 0; i < m->ninsns; i++) {
		if (leader[i])
			b->block[b->n++] = (struct block){ .first = i, .count = m->insn[i].count };
		b->block[b->n - 1].n++;
	}
	free(leader);
	return 0;
}

void blocks_free(struct blocks *b)
{
	free(b->block);
}

size_t blocks_at(const struct blocks *b, const struct merged *m, struct site site)
{
	size_t first = merged_at(m, site), lo = 0, hi = b->n, mid;

	if (first == m->ninsns || site_compare(m->insn[first].at, site))
		return b->n;
	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (b->block[mid].first < first)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < b->n && b->block[lo].first == first ? lo : b->n;
}
