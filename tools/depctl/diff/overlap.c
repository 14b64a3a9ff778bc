// SPDX-License-Identifier: GPL-2.0-or-later
/* The members of the profiles of both stores: functions, contexts, edges and pairs. */
#include "overlap.h"

static int count_functions(const struct diff *d, struct overlap_members *m)
{
	uint32_t i;

	for (i = 0; i < d->nrows; i++)
		if (overlap_add(m, d->row[i].side[0].insns, d->row[i].side[1].insns))
			return 1;
	return 0;
}

static int count_contexts(const struct diff *d, struct overlap_members *m)
{
	uint32_t i;

	for (i = 0; i < d->ncontexts; i++)
		if (overlap_add(m, d->context[i].side[0].insns, d->context[i].side[1].insns))
			return 1;
	return 0;
}

struct overlap_site overlap_site(const struct diff *d, unsigned int side, uint32_t process,
				 uint32_t image, uint64_t pc)
{
	struct site site = functions_site(d->l[side].functions, process, image, pc);
	uint32_t f = functions_in(d->l[side].functions, site);
	struct overlap_site s = { .row = NO_FUNCTION };
	const struct function *fn;

	if (f == NO_FUNCTION)
		return s;
	fn = &d->l[side].function[f];
	s.row = d->row_of[side][f];
	/* Code in no file is one row, and its addresses do not last. */
	if (*fn->path && *fn->path != '[')
		s.offset = site.addr - fn->start;
	return s;
}

static int count_edge(const struct diff *d, unsigned int side, const struct dep_edge_count *e,
		      struct overlap_members *m)
{
	struct { struct overlap_site from, to; uint32_t kind, taken; } key = {
		.from = { .row = NO_FUNCTION }, .to = { .row = NO_FUNCTION },
		.kind = e->kind, .taken = e->taken,
	};

	if (e->kind != DEP_EDGE_ENTERED)
		key.from = overlap_site(d, side, e->process, e->image, e->from);
	if (e->kind != DEP_EDGE_LEFT)
		key.to = overlap_site(d, side, e->process, e->to_image, e->to);
	return overlap_count(m, side, &key, sizeof(key), e->count);
}

static int count_edges(const struct diff *d, struct overlap_members *m, bool pairs)
{
	const struct dep_profile *p;
	unsigned int side;
	size_t i;

	for (side = 0; side < SIDES; side++) {
		p = d->l[side].profile;
		for (i = 0; i < p->nedges; i++) {
			if (pairs && p->edge[i].kind != DEP_BRANCH_CALL &&
			    p->edge[i].kind != DEP_BRANCH_CALL_INDIRECT)
				continue;
			if (count_edge(d, side, &p->edge[i], m))
				return 1;
		}
	}
	return 0;
}

const char *const overlap_names[OVERLAP_KINDS] = {
	[OVERLAP_FUNCTIONS] = "functions", [OVERLAP_PAIRS] = "pairs", [OVERLAP_EDGES] = "edges",
	[OVERLAP_CONTEXTS] = "contexts", [OVERLAP_STREAMS] = "streams",
};

int overlap_counts(const struct diff *d, enum overlap_kind kind, struct overlap_members *m)
{
	switch (kind) {
	case OVERLAP_FUNCTIONS:
		return count_functions(d, m);
	case OVERLAP_CONTEXTS:
		return count_contexts(d, m);
	default:
		return count_edges(d, m, kind == OVERLAP_PAIRS);
	}
}
