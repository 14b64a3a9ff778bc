// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * First pass of race prediction: find the shadow words that several threads access, and among them
 * the candidates: words with two conflicting accesses that possibly neither a common lock nor other
 * synchronisation orders. A candidate need not have a race.
 *
 * Each word has an entry for each thread, lockset and kind of access, with the time of the last
 * such access.
 */
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

#define ENTRIES	64u	/* a word with this many entries is a candidate without further checks */

static u32 first_slot(const struct predict *p, u64 number)
{
	return (u32)(number * 0x9e3779b97f4a7c15ull >> 32) & (p->pages_room - 1);
}

static int grow(struct predict *p)
{
	struct predict_page **old = p->page;
	u32 i, j, n = p->pages_room;
	struct predict_page **more = predict_alloc(p, (n ? 2 * n : 256) * sizeof(p->page[0]));

	if (!more)
		return -errno;
	p->page = more;
	p->pages_room = n ? 2 * n : 256;
	p->bytes -= n * sizeof(p->page[0]);
	for (i = 0; i < n; i++) {
		if (!old[i])
			continue;
		for (j = first_slot(p, old[i]->number); p->page[j];)
			j = (j + 1) & (p->pages_room - 1);
		p->page[j] = old[i];
	}
	free(old);
	return 0;
}

struct predict_page *predict_page(struct predict *p, u64 number, bool make)
{
	u32 i = 0;

	errno = 0;
	if (p->last && p->last->number == number)
		return p->last;
	if (p->pages_room)
		for (i = first_slot(p, number); p->page[i]; i = (i + 1) & (p->pages_room - 1))
			if (p->page[i]->number == number)
				return p->last = p->page[i];
	if (!make)
		return NULL;
	if (2 * p->npages >= p->pages_room) {
		if (grow(p))
			return NULL;
		for (i = first_slot(p, number); p->page[i];)
			i = (i + 1) & (p->pages_room - 1);
	}
	p->page[i] = predict_alloc(p, sizeof(*p->page[i]));
	if (!p->page[i])
		return NULL;
	p->page[i]->number = number;
	p->npages++;
	return p->last = p->page[i];
}

static void mark(struct predict *p, struct predict_page *page, u32 cell, u8 what)
{
	u8 new = what & ~page->mark[cell];

	page->mark[cell] |= what;
	page->marked = true;
	p->shared += new & PREDICT_SHARED ? 1 : 0;
	p->candidates += new & PREDICT_CANDIDATE ? 1 : 0;
}

static bool ordered(const struct predict_thread *t, u64 when)
{
	u32 other = when >> 48;

	return other < t->nclock && (when & 0xffffffffffffull) < t->clock[other];
}

/* Return: marks of a word that was accessed as in @e, and now by @t with conflicting @flags. */
static u8 what_of(const struct predict *p, const struct predict_thread *t,
		  const struct predict_entry *e, u32 flags)
{
	if (!predict_may_race(e->flags, flags) || ordered(t, e->when) ||
	    predict_exclude(p, e->set, t->set))
		return PREDICT_SHARED;
	return PREDICT_SHARED | PREDICT_CANDIDATE;
}

static int split(struct predict *p, struct predict_entry *first, struct predict_entries **out)
{
	struct predict_entries *l;
	u32 n = p->nentries;
	int err = 0;

	predict_more(p, p->entries, n, &p->entries_room, &err);

	if (err)
		return err;
	l = *out = &p->entries[n];
	*l = (struct predict_entries){ 0 };
	predict_more(p, l->v, 0, &l->room, &err);
	if (err)
		return err;
	l->v[l->n++] = *first;
	*first = (struct predict_entry){ .mask = 0xff, .set = n, .more = true };
	p->nentries++;
	return 0;
}

int predict_candidate(struct predict *p, u32 thread, struct predict_page *page, u32 cell, u8 mask,
		      u32 flags)
{
	const struct predict_thread *t = &p->thread[thread];
	struct predict_entry *e, *same = NULL;
	struct predict_entry me = {
		.when = (u64)thread << 48 | t->now, .set = t->set, .flags = (u16)flags,
		.mask = mask,
	};
	struct predict_entries *l;
	u8 what = 0;
	u32 i, n;
	int err;

	if (page->mark[cell] & PREDICT_CANDIDATE)
		return 0;
	if (!page->entry) {
		page->entry = predict_alloc(p, PREDICT_CELLS * sizeof(*page->entry));
		if (!page->entry)
			return -errno;
	}
	e = &page->entry[cell];
	if (!e->mask) {
		*e = me;
		return 0;
	}
	l = e->more ? &p->entries[e->set] : NULL;
	for (i = 0, n = l ? l->n : 1; i < n; i++) {
		struct predict_entry *x = l ? &l->v[i] : e;

		if (x->when >> 48 == thread && x->set == me.set && x->flags == me.flags)
			same = x;
		else if (x->when >> 48 != thread && x->mask & mask &&
			 predict_conflict(x->flags, flags))
			what |= what_of(p, t, x, flags);
	}
	if (n >= ENTRIES)
		what = PREDICT_SHARED | PREDICT_CANDIDATE;
	if (what)
		mark(p, page, cell, what);
	if (same) {
		same->when = me.when;
		same->mask |= mask;
		return 0;
	}
	if (what & PREDICT_CANDIDATE)
		return 0;
	err = l ? 0 : split(p, e, &l);
	if (!err)
		predict_more(p, l->v, l->n, &l->room, &err);
	if (!err)
		l->v[l->n++] = me;
	return err;
}
