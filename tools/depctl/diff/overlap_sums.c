// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How much of two profiles is the same.
 *
 * A profile has members, such as functions, which have shares of its total.  Two profiles overlap
 * by the sum, over all members, of the smaller one of both shares.  HPS (Mousa and Krintz, "HPS:
 * Hybrid Profiling Support", 2005) takes the hottest members only, those that make 90 % of a
 * profile.
 *
 * Sums are exact: the smaller one of a / A and b / B is that of a * B and b * A, divided by A * B.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "overlap.h"

typedef unsigned __int128 wide;

static int no_memory(void)
{
	warn("out of memory");
	return 1;
}

/* Counts of a damaged store can be as large as they like; shares of a wrong total are wrong. */
int diff_sum(uint64_t *to, uint64_t more, unsigned int side)
{
	if (!__builtin_add_overflow(*to, more, to))
		return 0;
	warn("counts of the %s store add up to more than 64 bits: it is damaged",
	     side ? "second" : "first");
	return 1;
}

/* ---- members ---- */

static int make_room(struct overlap_members *m)
{
	size_t room = m->room ? 2 * m->room : 1024;
	struct overlap_member *p = realloc(m->member, room * sizeof(*p));

	if (!p)
		return no_memory();
	m->member = p;
	m->room = room;
	return 0;
}

int overlap_add(struct overlap_members *m, uint64_t first, uint64_t second)
{
	if (m->n == m->room && make_room(m))
		return 1;
	m->member[m->n++] = (struct overlap_member){ { first, second } };
	return 0;
}

int overlap_count(struct overlap_members *m, unsigned int side, const void *key, size_t size,
		  uint64_t weight)
{
	uint32_t number = number_of(&m->keys, key, size);

	if (number == NUMBERING_FULL)
		return no_memory();
	if (number == m->n && overlap_add(m, 0, 0))
		return 1;
	return diff_sum(&m->member[number].weight[side], weight, side);
}

void overlap_members_free(struct overlap_members *m)
{
	numbering_free(&m->keys);
	free(m->member);
	memset(m, 0, sizeof(*m));
}

/* ---- the sums ---- */

static int by_weight(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return *a > *b ? -1 : *a < *b;
}

/* struct part - of a profile: its members of at least @least, and what they count for together */
struct part {
	uint64_t least, n, total;
};

/* The members that make at least @tenths tenths of the profile, the largest first. */
static struct part find_part(const uint64_t *sorted, size_t n, uint64_t total, unsigned int tenths)
{
	struct part p = { .least = UINT64_MAX };

	while (p.n < n && ((wide)p.total * 10 < (wide)total * tenths || sorted[p.n] == p.least)) {
		p.least = sorted[p.n++];
		p.total += p.least;
	}
	return p;
}

static int find_parts(const struct overlap_members *m, unsigned int side, struct part *all,
		      struct part *hot)
{
	uint64_t *sorted = calloc(m->n + 1, sizeof(*sorted)), total = 0, weight;
	size_t i, n = 0;

	if (!sorted)
		return no_memory();
	for (i = 0; i < m->n; i++) {
		weight = m->member[i].weight[side];
		if (diff_sum(&total, weight, side)) {
			free(sorted);
			return 1;
		}
		if (weight)
			sorted[n++] = weight;
	}
	qsort(sorted, n, sizeof(*sorted), by_weight);
	*all = find_part(sorted, n, total, 10);
	*hot = find_part(sorted, n, total, 9);
	free(sorted);
	return 0;
}

/*
 * Sum over the members of both parts of the smaller one of both shares in these parts, multiplied
 * by both parts' totals.
 */
static wide sum_of_least(const struct overlap_members *m, const struct part *first,
			 const struct part *second)
{
	wide sum = 0, a, b;
	size_t i;

	for (i = 0; i < m->n; i++) {
		a = m->member[i].weight[0];
		b = m->member[i].weight[1];
		if (!a || !b || a < first->least || b < second->least)
			continue;
		a *= second->total;
		b *= first->total;
		sum += a < b ? a : b;
	}
	return sum;
}

static double ratio(wide part, wide whole)
{
	return whole ? (double)part / (double)whole : 0;
}

int overlap_compute(const struct overlap_members *m, struct overlap *out)
{
	struct part all[SIDES], hot[SIDES], seen;
	unsigned int side;

	*out = (struct overlap){ 0 };
	for (side = 0; side < SIDES; side++) {
		if (find_parts(m, side, &all[side], &hot[side]))
			return 1;
		out->members[side] = all[side].n;
		out->hot[side] = hot[side].n;
	}
	out->empty = !all[0].n && !all[1].n;
	out->all = ratio(sum_of_least(m, &all[0], &all[1]), (wide)all[0].total * all[1].total);
	out->of_hot = ratio(sum_of_least(m, &hot[0], &hot[1]), (wide)hot[0].total * hot[1].total);
	/* The hot members of the first profile, with their shares in the whole of both. */
	seen = all[0];
	seen.least = hot[0].least;
	out->accuracy = ratio(sum_of_least(m, &seen, &all[1]), (wide)hot[0].total * all[1].total);
	return 0;
}
