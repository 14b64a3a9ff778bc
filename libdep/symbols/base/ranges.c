// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>

#include "ranges.h"

int dep_spans_add(struct dep_spans *t, u64 lo, u64 hi, u32 value)
{
	size_t room = t->room ? 2 * t->room : 64;
	struct dep_span *p;

	if (lo >= hi)
		return 0;
	if (t->n == t->room) {
		p = realloc(t->span, room * sizeof(*p));
		if (!p)
			return -ENOMEM;
		t->span = p;
		t->room = room;
	}
	t->span[t->n] = (struct dep_span){ lo, hi, value, (u32)t->n };
	t->n++;
	return 0;
}

static int by_beginning(const void *pa, const void *pb)
{
	const struct dep_span *a = pa, *b = pb;

	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static void put_cut(struct dep_spans *t, u64 at, u32 value)
{
	if (t->ncuts && t->cut[t->ncuts - 1].at == at)
		t->ncuts--;
	if (t->ncuts && t->cut[t->ncuts - 1].value == value)
		return;
	t->cut[t->ncuts++] = (struct dep_span_cut){ at, value };
}

/*
 * Remove the ranges that end at or before @to from @open, and add a cut at each end: from there on,
 * the last range that is still open gives the value.  Return: the number of open ranges.
 */
static size_t let_end(struct dep_spans *t, const u32 *open, size_t nopen, u64 to)
{
	u64 end;

	while (nopen && t->span[open[nopen - 1]].hi <= to) {
		end = t->span[open[nopen - 1]].hi;
		/* Also remove enclosing ranges that ended before: the last one hid their end. */
		while (nopen && t->span[open[nopen - 1]].hi <= end)
			nopen--;
		put_cut(t, end, nopen ? t->span[open[nopen - 1]].value : DEP_SPAN_NONE);
	}
	return nopen;
}

int dep_spans_seal(struct dep_spans *t)
{
	struct dep_span_cut *fits;
	size_t i, nopen = 0;
	u32 *open;

	if (!t->n)
		return 0;
	qsort(t->span, t->n, sizeof(*t->span), by_beginning);
	open = malloc(t->n * sizeof(*open));
	/* A range adds at most two cuts (addresses at which the value changes). */
	t->cut = malloc(2 * t->n * sizeof(*t->cut));
	if (!open || !t->cut) {
		free(open);
		return -ENOMEM;
	}
	for (i = 0; i < t->n; i++) {
		nopen = let_end(t, open, nopen, t->span[i].lo);
		open[nopen++] = (u32)i;
		put_cut(t, t->span[i].lo, t->span[i].value);
	}
	let_end(t, open, nopen, UINT64_MAX);
	free(open);
	fits = realloc(t->cut, t->ncuts * sizeof(*t->cut));
	if (fits)
		t->cut = fits;
	free(t->span);
	t->span = NULL;
	t->n = 0;
	t->room = 0;
	return 0;
}

/* Return: the number of cuts at or before @at. */
static size_t cuts_up_to(const struct dep_spans *t, u64 at)
{
	size_t lo = 0, hi = t->ncuts, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (t->cut[mid].at <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

u32 dep_spans_find(const struct dep_spans *t, u64 at)
{
	size_t n = cuts_up_to(t, at);

	return n ? t->cut[n - 1].value : DEP_SPAN_NONE;
}

u64 dep_spans_end(const struct dep_spans *t, u64 at)
{
	size_t n = cuts_up_to(t, at);

	return n < t->ncuts ? t->cut[n].at : UINT64_MAX;
}

void dep_spans_free(struct dep_spans *t)
{
	free(t->span);
	free(t->cut);
	*t = (struct dep_spans){ 0 };
}
