// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/error.h"
#include "counted.h"

static int by_process(const void *pa, const void *pb)
{
	const struct dep_counter *a = pa, *b = pb;

	if (a->c != b->c)
		return a->c < b->c ? -1 : 1;
	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return a->b < b->b ? -1 : a->b > b->b;
}

static int by_interval(const void *pa, const void *pb)
{
	const struct dep_counter *a = pa, *b = pb;

	if (a->e != b->e)
		return a->e < b->e ? -1 : 1;
	return by_process(a, b);
}

static int exits_by_interval(const void *pa, const void *pb)
{
	const struct dep_exit_total *a = pa, *b = pb;

	if (a->interval != b->interval)
		return a->interval < b->interval ? -1 : 1;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->exit < b->exit ? -1 : a->exit > b->exit;
}

static void sort(struct dep_counter *row, size_t n,
		 int (*compare)(const void *a, const void *b))
{
	if (n)
		qsort(row, n, sizeof(*row), compare);
}

/* Turn the hash table @m into an array. */
static struct dep_counter *take_map(struct dep_count_map *m, size_t *n)
{
	struct dep_counter *row = calloc(m->n + 1, sizeof(*row));
	size_t i;

	*n = 0;
	for (i = 0; row && i < m->room; i++)
		if (m->slot[i].count)
			row[(*n)++] = m->slot[i];
	dep_count_free(m);
	return row;
}

int dep_counted_take(struct dep_counted *c, struct dep_counts_all *all)
{
	*c = (struct dep_counted){ .exit = all->exits.row, .nexits = all->exits.n };
	all->exits.row = NULL;
	c->piece = take_map(&all->pieces, &c->npieces);
	c->pair = take_map(&all->pairs, &c->npairs);
	c->interruption = take_map(&all->breaks, &c->ninterruptions);
	if (!c->piece || !c->pair || !c->interruption)
		return dep_fail(-ENOMEM, "counters");
	sort(c->piece, c->npieces, by_process);
	return 0;
}

void dep_counted_free(struct dep_counted *c)
{
	free(c->exit);
	free(c->piece);
	free(c->pair);
	free(c->interruption);
	*c = (struct dep_counted){ 0 };
}

void dep_counted_sort(struct dep_counted *c)
{
	if (c->nexits)
		qsort(c->exit, c->nexits, sizeof(*c->exit), exits_by_interval);
	sort(c->piece, c->npieces, by_interval);
	sort(c->pair, c->npairs, by_interval);
	sort(c->interruption, c->ninterruptions, by_interval);
}

/* Move the rows of @interval from *@row to the result; return their number. */
static size_t next_rows(struct dep_counter **row, size_t *left, u32 interval)
{
	size_t n = 0;

	while (n < *left && (*row)[n].e == interval)
		n++;
	*row += n;
	*left -= n;
	return n;
}

void dep_counted_next(struct dep_counted *left, u32 interval, struct dep_counted *out)
{
	*out = *left;
	for (out->nexits = 0; left->nexits && left->exit->interval == interval; left->nexits--) {
		out->nexits++;
		left->exit++;
	}
	out->npieces = next_rows(&left->piece, &left->npieces, interval);
	out->npairs = next_rows(&left->pair, &left->npairs, interval);
	out->ninterruptions = next_rows(&left->interruption, &left->ninterruptions, interval);
}
