// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Drop descriptors out of the batches of a window.
 *
 * Batches may be shared with snapshots, so they are never changed: what is left of a process is
 * copied to new batches. The order of a process's descriptors stays.
 *
 * Mappings are replayed in their order. One is useless if it ended as a whole before the oldest
 * chunk of its process in the window began (dep_fate.oldest), and was not there at a fork. What has
 * ended it is useless if it has ended only such mappings.
 */
#include <stdlib.h>
#include <string.h>

#include "libdep/format/write/pack.h"
#include "trim.h"

#define LIVE_MAX	4096u	/* most mappings at a time; with more none is useless */

/* A mapping that has not ended at the present place of the replay. */
struct live {
	u64 start, end;
	u32 number;		/* of its descriptor, among the MAP descriptors */
};

struct replay {
	u64 cutoff;
	struct live live[LIVE_MAX];
	u32 nlive;
	bool gave_up;
	/* for each MAP descriptor: useless; it must stay */
	u8 *useless, *pinned;
	u32 n, room;
};

static int add_map(struct replay *r, u64 start, u64 end)
{
	u32 room = r->room ? 2 * r->room : 256;
	u8 *more;

	if (r->n == r->room) {
		more = realloc(r->useless, room);
		if (!more)
			return -1;
		r->useless = more;
		more = realloc(r->pinned, room);
		if (!more)
			return -1;
		r->pinned = more;
		r->room = room;
	}
	if (r->nlive == LIVE_MAX)
		return -1;
	r->live[r->nlive++] = (struct live){ start, end, r->n };
	r->useless[r->n] = r->pinned[r->n] = 0;
	r->n++;
	return 0;
}

/* [@start, @end) is mapped anew, or unmapped, at time @ns. */
static void cut(struct replay *r, u64 start, u64 end, u64 ns)
{
	struct live *l;
	u32 i, n = 0;

	for (i = 0; i < r->nlive; i++) {
		l = &r->live[i];
		if (start <= l->start && end >= l->end) {
			r->useless[l->number] = ns < r->cutoff && !r->pinned[l->number];
			continue;
		}
		if (start < l->end && end > l->start) {
			/* A mapping with a hole has two parts, of which only one is followed. */
			if (start > l->start && end < l->end)
				r->pinned[l->number] = 1;
			else if (start <= l->start)
				l->start = end;
			else
				l->end = start;
		}
		r->live[n++] = *l;
	}
	r->nlive = n;
}

static void replay(struct replay *r, const struct adept_desc *h)
{
	const struct adept_desc_unmap *u = (const void *)h;
	const struct adept_desc_map *m = (const void *)h;
	u32 i;

	if (h->type == ADEPT_DESC_UNMAP) {
		cut(r, u->start, u->end, u->time_ns);
	} else if (h->type == ADEPT_DESC_MAP) {
		cut(r, m->start, m->end, m->time_ns);
		r->gave_up |= add_map(r, m->start, m->end) != 0;
	} else if (h->type == ADEPT_DESC_FORKED) {
		for (i = 0; i < r->nlive; i++)
			r->pinned[r->live[i].number] = 1;
	}
}

/* Does [@start, @end) overlap a live mapping that is, or is not, useless? */
static bool ends_any(const struct replay *r, u64 start, u64 end, bool useless)
{
	u32 i;

	for (i = 0; i < r->nlive; i++)
		if (!r->useless[r->live[i].number] != useless && start < r->live[i].end &&
		    end > r->live[i].start)
			return true;
	return false;
}

/* ---- the second pass ---- */

struct pass {
	const u32 *frag;
	size_t nfrags;
	struct dep_forgotten *dropped;
	const struct replay *known;	/* result of the replay */
	struct replay *now;
	bool inherits;		/* what ends no mapping here may end one of the parent */
};

static bool is_dropped(const struct pass *p, u32 first_exit)
{
	size_t low = 0, high = p->nfrags, half;

	while (low < high) {
		half = low + (high - low) / 2;
		if (p->frag[half] < first_exit)
			low = half + 1;
		else
			high = half;
	}
	return low < p->nfrags && p->frag[low] == first_exit;
}

static bool fragment_goes(struct pass *p, const struct adept_desc_frag *d)
{
	if (!is_dropped(p, d->first_exit) || p->dropped->n == p->nfrags)
		return false;
	p->dropped->frag[p->dropped->n].first_exit = d->first_exit;
	p->dropped->frag[p->dropped->n++].nexits = d->nexits;
	return true;
}

/* The live mappings of the second pass are those that stay. */
static bool map_goes(struct pass *p, const struct adept_desc *h)
{
	const struct adept_desc_unmap *u = (const void *)h;
	const struct adept_desc_map *m = (const void *)h;
	bool goes;

	if (h->type == ADEPT_DESC_UNMAP) {
		goes = u->time_ns < p->now->cutoff && !ends_any(p->now, u->start, u->end, false) &&
		       (!p->inherits || ends_any(p->now, u->start, u->end, true));
		cut(p->now, u->start, u->end, u->time_ns);
		return goes;
	}
	/* If it goes itself, what it has ended must not be taken for live. */
	goes = p->known->useless[p->now->n] && !ends_any(p->now, m->start, m->end, false);
	cut(p->now, m->start, m->end, m->time_ns);
	if (add_map(p->now, m->start, m->end))
		return false;
	p->now->useless[p->now->n - 1] = goes;
	return goes;
}

static bool goes(struct pass *p, const struct adept_desc *h)
{
	const struct adept_desc_translation *translation = (const void *)h;
	const struct adept_desc_log *line = (const void *)h;

	switch (h->type) {
	case ADEPT_DESC_FRAGMENT:
		return fragment_goes(p, (const void *)h);
	case ADEPT_DESC_TRANSLATION:
		return is_dropped(p, translation->first_exit);
	case ADEPT_DESC_LOG:
		return line->time_ns < p->known->cutoff;
	case ADEPT_DESC_MAP:
	case ADEPT_DESC_UNMAP:
		return !p->known->gave_up && map_goes(p, h);
	}
	return false;
}

/* Copy what is left of the process in @from to @to. */
static int copy_rest(struct dep_batches *to, const struct dep_batch *from, struct pass *p)
{
	const struct adept_desc *h;
	size_t at;
	int err = 0;

	for (at = 0; at < from->size && !err; at += h->size) {
		h = (const void *)(from->data + at);
		if (!goes(p, h))
			err = dep_batches_add(to, from->process, (const u8 *)h, h->size);
	}
	return err;
}

static void replay_batch(struct replay *r, const struct dep_batch *from)
{
	const struct adept_desc *h;
	size_t at;

	for (at = 0; at < from->size && !r->gave_up; at += h->size) {
		h = (const void *)(from->data + at);
		replay(r, h);
	}
}

/* Put the batches of @more in the place of those of @process. Return: false without memory. */
static bool replace(struct dep_batches *b, u32 process, struct dep_batches *more)
{
	struct dep_batch **row;
	size_t i;

	if (b->n + more->n > b->room) {
		row = realloc(b->row, (b->n + more->n) * sizeof(*row));
		if (!row)
			return false;
		b->row = row;
		b->room = b->n + more->n;
	}
	dep_batches_forget(b, process);
	for (i = 0; i < more->n; i++)
		b->row[b->n++] = more->row[i];
	__atomic_store_n(&b->bytes, b->bytes + more->bytes, __ATOMIC_RELAXED);
	free(more->row);
	*more = (struct dep_batches){ 0 };
	return true;
}

void dep_trim_batches(struct dep_batches *b, const struct dep_fate *of, const u32 *useless,
		      size_t n, struct dep_forgotten *dropped)
{
	u32 process = of->process;
	struct replay *known = calloc(1, sizeof(*known)), *now = calloc(1, sizeof(*now));
	struct pass p = { useless, n, dropped, known, now, of->inherits };
	struct dep_batches rest = { 0 };
	size_t i;
	int err = known && now ? 0 : -1;

	for (i = 0; i < b->n && !err; i++) {
		known->cutoff = now->cutoff = of->oldest;
		if (b->row[i]->process == process)
			replay_batch(known, b->row[i]);
	}
	for (i = 0; i < b->n && !err; i++)
		if (b->row[i]->process == process)
			err = copy_rest(&rest, b->row[i], &p);
	if (err || !replace(b, process, &rest)) {
		dropped->n = 0;
		dep_batches_drop(&rest);
	}
	if (known) {
		free(known->useless);
		free(known->pinned);
	}
	if (now) {
		free(now->useless);
		free(now->pinned);
	}
	free(known);
	free(now);
}
