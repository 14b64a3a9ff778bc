// SPDX-License-Identifier: LGPL-2.1-or-later
/* Thread-local shadow entries: allocation, and conversion from and to access histories. */
#include <errno.h>

#include "internal.h"

#define UNDER_MAX	8u	/* maximum number of other threads' accesses in an entry */

/* ---- allocation of entries ---- */

u32 race_local_take(struct race_mem *m, struct race_owns *s)
{
	u32 room = s->room ? s->room * 2 : 16, cell = s->free;
	struct race_local **p;

	if (cell) {
		s->free = race_local_get(s, cell)->under;
		*race_local_get(s, cell) = (struct race_local){ 0 };
		return cell;
	}
	if (!s->nchunks || s->used == RACE_LOCAL_CHUNK) {
		if (s->nchunks == s->room) {
			/* the number of an entry must fit into a cell */
			if (room > RACE_LOCAL / RACE_LOCAL_CHUNK)
				return 0;
			p = race_grow(m, RACE_MEM_STATES, s->chunk, s->room * sizeof(*p),
				      room * sizeof(*p));
			if (!p)
				return 0;
			s->chunk = p;
			s->room = room;
		}
		s->chunk[s->nchunks] = race_alloc(m, RACE_MEM_STATES,
						  RACE_LOCAL_CHUNK * sizeof(struct race_local));
		if (!s->chunk[s->nchunks])
			return 0;
		s->nchunks++;
		s->used = 0;
	}
	return RACE_LOCAL | ((s->nchunks - 1) * RACE_LOCAL_CHUNK + s->used++);
}

void race_local_give(struct race_owns *s, u32 cell)
{
	race_local_get(s, cell)->under = s->free;
	s->free = cell;
}

void race_owns_each(const struct race_owns *s, void (*f)(void *arg, u32 under), void *arg)
{
	u32 i, j, under;

	for (i = 0; i < s->nchunks; i++)
		for (j = 0; j < (i + 1 < s->nchunks ? RACE_LOCAL_CHUNK : s->used); j++) {
			under = s->chunk[i][j].under;
			/* In a free entry, @under is the next free entry. */
			if (under && !(under & RACE_LOCAL))
				f(arg, under);
		}
}

void race_owns_free(struct race_mem *m, struct race_owns *s)
{
	u32 i;

	for (i = 0; i < s->nchunks; i++)
		race_free(m, RACE_MEM_STATES, s->chunk[i],
			  RACE_LOCAL_CHUNK * sizeof(struct race_local));
	race_free(m, RACE_MEM_STATES, s->chunk, s->room * sizeof(*s->chunk));
}

/* ---- making an entry from access histories ---- */

/* The history of one byte, split into the thread's own accesses and those of other threads. */
struct part {
	/* interval of the thread's last read and write, as version + 1; 0: none */
	u32 read, wrote;
	u32 n;
	u64 when[UNDER_MAX];
	u32 site[UNDER_MAX];
};

static bool is_own(const struct race_detector *d, const struct race_access_ctx *now, u64 when,
		   u32 site)
{
	return race_when_thread(when) == now->thread &&
	       !((site ^ now->site) & RACE_CLASS_INSIDE) && !(site & RACE_CLASS_ATOMIC) &&
	       !(race_sites_get(&d->sites, site)->flags & RACE_FREE);
}

/* Split history @id into @p. Return: false if a thread-local entry cannot represent it. */
static bool take_apart(const struct race_detector *d, const struct race_access_ctx *now, u32 id,
		       struct part *p)
{
	struct access_history *s = id ? access_histories_get(&d->states, id) : NULL;
	u32 i, n = s ? access_history_n(s) : 0, site, at;
	u64 when;

	p->read = p->wrote = p->n = 0;
	if (s && s->info & ACCESS_HISTORY_FULL)
		return false;
	for (i = 0; i < n; i++) {
		when = access_history_when(s)[i];
		site = access_history_site(s)[i];
		at = race_when_version(when) + 1;
		if (!is_own(d, now, when, site)) {
			if (p->n == UNDER_MAX)
				return false;
			p->when[p->n] = when;
			p->site[p->n++] = site;
		} else if (!at) {
			return false;
		} else if (site & RACE_CLASS_WRITE) {
			p->wrote = at > p->wrote ? at : p->wrote;
		} else {
			p->read = at > p->read ? at : p->read;
		}
	}
	/* An entry stores no order of writes: no byte has both own writes and others' accesses. */
	return !p->wrote || !p->n;
}

static bool is_under(const struct part *a, const struct part *b)
{
	return a->n == b->n && !memcmp(a->when, b->when, a->n * sizeof(a->when[0])) &&
	       !memcmp(a->site, b->site, a->n * sizeof(a->site[0]));
}

/*
 * Are all writes in @p, by other threads, ordered before the current access of the thread? Then
 * reads of the thread do not race with them. *@covers: a write of the thread makes all accesses in
 * @p unnecessary.
 */
static bool may_be_under(const struct race_access_ctx *now, const struct part *p, bool *covers)
{
	const u32 spared = RACE_CLASS_ATOMIC | RACE_CLASS_INSIDE;
	bool before;
	u32 i;

	*covers = true;
	for (i = 0; i < p->n; i++) {
		before = (p->when[i] & RACE_EPOCH) <=
			 race_clock_get(&now->t->clock, race_when_thread(p->when[i]));
		if (!before && p->site[i] & RACE_CLASS_WRITE)
			return false;
		*covers &= before && !(now->site & ~p->site[i] & spared);
	}
	return true;
}

int race_local_create(struct race_detector *d, const struct race_access_ctx *now, const u32 *part,
		      u32 *cell)
{
	struct part p[2], *under = NULL, *next = p;
	u32 read[8], wrote[8], b, low = UINT32_MAX, high = 0;
	struct race_local *o;
	bool covers = true;
	u8 bare = 0;
	int ret = 0;

	if (now->site & RACE_CLASS_ATOMIC || now->flags & RACE_FREE)
		return 0;
	for (b = 0; b < 8; b++) {
		if ((!b || part[b] != part[b - 1]) && !take_apart(d, now, part[b], next))
			return 0;
		read[b] = next->read;
		wrote[b] = next->wrote;
		low = read[b] && read[b] < low ? read[b] : low;
		low = wrote[b] && wrote[b] < low ? wrote[b] : low;
		high = read[b] > high ? read[b] : high;
		high = wrote[b] > high ? wrote[b] : high;
		bare |= (u8)(!next->n << b);
		if (under && next->n && !is_under(under, next))
			return 0;
		if (!under && next->n) {
			under = next;
			next = under == p ? p + 1 : p;
			*next = *under;
		}
	}
	if (high < low || high - low >= UINT16_MAX || (under && !may_be_under(now, under, &covers)))
		return 0;
	*cell = race_local_take(&d->mem, &d->shadow.owns);
	if (!*cell)
		return -ENOMEM;
	o = race_local_get(&d->shadow.owns, *cell);
	if (under)
		ret = access_histories_find(&d->mem, &d->states, 0, under->n, under->when,
					    under->site, &o->under);
	o->base = low;
	o->thread = (u16)now->thread;
	o->bare = bare;
	o->inside = !!(now->site & RACE_CLASS_INSIDE);
	o->covers = covers;
	for (b = 0; b < 8; b++) {
		o->read[b] = read[b] ? (u16)(read[b] - low + 1) : 0;
		o->wrote[b] = wrote[b] ? (u16)(wrote[b] - low + 1) : 0;
	}
	return ret;
}

/* ---- making access histories from an entry ---- */

static u64 when_of(const struct race_local *o, u16 at)
{
	return race_when(o->thread, (u64)(o->base + at - 2) << 16);
}

/* Make the access history of byte @b from entry @o; @site: sites of its read and its write. */
static int state_of(struct race_detector *d, const struct race_local *o, u32 b, const u32 *site,
		    u32 *out)
{
	struct access_history *s = NULL;
	u64 when[UNDER_MAX + 2], read = o->read[b] ? when_of(o, o->read[b]) : 0;
	u32 sites[UNDER_MAX + 2], i, n = 0, old = 0;
	bool due = o->read[b];

	if (!(o->bare >> b & 1)) {
		s = access_histories_get(&d->states, o->under);
		old = access_history_n(s);
	}
	for (i = 0; i <= old; i++) {
		if (due && (i == old || access_history_site(s)[i] & RACE_CLASS_WRITE ||
			    access_history_when(s)[i] > read)) {
			when[n] = read;
			sites[n++] = site[0];
			due = false;
		}
		if (i < old) {
			when[n] = access_history_when(s)[i];
			sites[n++] = access_history_site(s)[i];
		}
	}
	if (o->wrote[b]) {
		when[n] = when_of(o, o->wrote[b]);
		sites[n++] = site[1];
	}
	return access_histories_find(&d->mem, &d->states, 0, n, when, sites, out);
}

int race_local_flush(struct race_detector *d, struct race_page *page, u32 i)
{
	const struct race_local *o = race_local_get(&d->shadow.owns, page->cell[i]);
	u32 inside = o->inside ? RACE_INSIDE : 0, site[2], part[8], b, out;
	int ret;

	ret = race_sites_find(&d->mem, &d->sites, 0, RACE_READ | inside, &site[0]);
	if (!ret)
		ret = race_sites_find(&d->mem, &d->sites, 0, RACE_WRITE | inside, &site[1]);
	for (b = 0; b < 8 && !ret; b++)
		ret = state_of(d, o, b, site, &part[b]);
	if (!ret)
		ret = access_histories_find_split(&d->mem, &d->states, part, &out);
	if (ret)
		return ret;
	race_local_give(&d->shadow.owns, page->cell[i]);
	page->cell[i] = out;
	page->settled += page->settled < RACE_SETTLED_MAX;
	return 0;
}
