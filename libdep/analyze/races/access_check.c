// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * One state and one access to it: races, and the next state.
 *
 * An earlier access p can be left out for a later one q that is ordered after it and
 * conflicts with all that p conflicts with: whatever will not be ordered after p will
 * not be ordered after q.  FastTrack does that with epochs and, for reads, vectors; here
 * it is a list, which has one entry in nearly all states.
 */
#include <errno.h>

#include "internal.h"

#define FULL_MAX	256u	/* accesses in a state that raced */

static bool conflict(u32 a, u32 b)
{
	return ((a | b) & RACE_CLASS_WRITE) &&
	       !(a & b & (RACE_CLASS_ATOMIC | RACE_CLASS_INSIDE));
}

/* Has class @a the conflicts of @b as well?  It writes if @b does, and is spared no more. */
static bool covers(u32 a, u32 b)
{
	u32 spared = RACE_CLASS_ATOMIC | RACE_CLASS_INSIDE;

	a &= RACE_CLASS;
	b &= RACE_CLASS;
	return !(b & ~a & RACE_CLASS_WRITE) && !(a & ~b & spared);
}

/* Is @when, of another access to the same bytes, before what @t does now? */
static bool is_before(const struct race_thread *t, u64 when)
{
	return (when & RACE_EPOCH) <= race_clock_get(&t->clock, race_when_thread(when));
}

static void add_report(struct race_detector *d, const struct race_access_ctx *now, u64 when,
		       u32 site, u64 address, u32 size)
{
	struct race_pending *p;
	u32 i;

	for (i = d->npending; i--;) {
		p = &d->pending[i];
		if (p->when == when && p->site == site && p->address + p->size == address) {
			p->size += size;
			return;
		}
	}
	if (d->npending == RACE_PENDING)
		race_report_pending(d, now);
	d->pending[d->npending++] = (struct race_pending){ when, address, site, size };
}

static int add_edge(struct race_detector *d, u64 when)
{
	u32 i, room = d->edge_room ? d->edge_room * 2 : 16;
	u64 *p;

	for (i = 0; i < d->nedges; i++) {
		if (race_when_thread(d->edge[i]) != race_when_thread(when))
			continue;
		if (d->edge[i] < when)
			d->edge[i] = when;
		return 0;
	}
	if (d->nedges == d->edge_room) {
		p = race_grow(&d->mem, RACE_MEM_OTHER, d->edge, d->edge_room * sizeof(*p),
			      room * sizeof(*p));
		if (!p)
			return -ENOMEM;
		d->edge = p;
		d->edge_room = room;
	}
	d->edge[d->nedges++] = when;
	return 0;
}

/*
 * The access reads what was written last at @when or later in the same interval.  If it
 * is not ordered after that: SHB.  While the rest of the interval is not known to the
 * reader, it may come to other bytes with this state that were written later.
 */
static int saw_write(struct race_detector *d, const struct race_access_ctx *now, u64 when,
		     u64 wrote, bool *keep)
{
	struct race_thread *w = &d->thread[race_when_thread(when)];
	u64 known = race_clock_get(&now->t->clock, race_when_thread(when));
	u64 upto = when | RACE_SUB_EPOCH, then;

	if (race_when_thread(when) == now->thread || known >= (upto & RACE_EPOCH))
		return 0;
	*keep = false;
	then = race_when(race_when_thread(when), w->clock.epoch);
	if (race_same_interval(wrote, when))
		upto = wrote;
	else if (then < upto)
		upto = then;
	return known >= (upto & RACE_EPOCH) ? 0 : add_edge(d, upto);
}

static int room_for(struct race_detector *d, u32 n)
{
	u32 room = d->scratch ? d->scratch : 16;
	void *p;

	if (n <= d->scratch)
		return 0;
	while (room < n)
		room *= 2;
	p = race_grow(&d->mem, RACE_MEM_OTHER, d->when, d->scratch * 8ul, room * 8ul);
	if (p)
		d->when = p;
	else
		return -ENOMEM;
	p = race_grow(&d->mem, RACE_MEM_OTHER, d->site, d->scratch * 4ul, room * 4ul);
	if (p) {
		d->site = p;
		d->scratch = room;
		return 0;
	}
	race_mem_give(&d->mem, RACE_MEM_OTHER, (room - d->scratch) * 8ul);
	return -ENOMEM;
}

/* What a state is made from. */
struct old {
	u32 n, flags;
	const u64 *when;
	const u32 *site;
};

/*
 * Is this of the same interval as the access?  For one that only reads, whatever came
 * since the last release: nobody else can know more of it than of the access.
 */
static bool together(const struct race_access_ctx *now, u64 when)
{
	if (now->site & RACE_CLASS_WRITE)
		return race_same_interval(when, now->when);
	return race_when_thread(when) == now->thread && (when & RACE_EPOCH) >= now->t->since;
}

/*
 * Must it be kept that @now frees what was accessed by @site, or goes on with what that freed?  See
 * struct race_ops.
 */
static bool frees(const struct race_detector *d, const struct race_access_ctx *now, u32 site)
{
	return d->ops.forgotten &&
	       (race_sites_get(&d->sites, site)->flags ^ now->flags) & RACE_FREE;
}

/* The entry that makes it needless to keep @now, or n. */
static u32 find_like(const struct race_detector *d, const struct race_access_ctx *now,
		     const struct old *o, bool full)
{
	u32 class = now->site & RACE_CLASS, places = d->options.places, i, c, like = 0, at = o->n;

	for (i = o->n; i--;) {
		if (!together(now, o->when[i]) || frees(d, now, o->site[i]))
			continue;
		if (o->site[i] == now->site)
			return i;
		c = o->site[i] & RACE_CLASS;
		/* The last write must be found again as one. */
		if (class & RACE_CLASS_WRITE ? c == class : covers(c, class)) {
			if (at == o->n)
				at = i;
			like++;
		}
	}
	return !full && like >= places ? at : o->n;
}

/* Is entry @i to be left out now that there is @now? */
static bool is_stale(const struct race_detector *d, const struct race_access_ctx *now,
		     const struct old *o, u32 i, bool full)
{
	if (!is_before(now->t, o->when[i]))
		return false;
	if (o->site[i] == now->site)
		return true;
	if (full || !covers(now->site, o->site[i]))
		return false;
	return d->options.places == 1 || !together(now, o->when[i]);
}

/* Put an entry where it belongs after the first @from of @n that are there. */
static void insert(struct race_detector *d, u32 from, u32 n, u64 when, u32 site)
{
	u32 i = n;

	while (i > from && (d->when[i - 1] > when ||
			    (d->when[i - 1] == when && d->site[i - 1] > site))) {
		d->when[i] = d->when[i - 1];
		d->site[i] = d->site[i - 1];
		i--;
	}
	d->when[i] = when;
	d->site[i] = site;
}

/* The state after the access into d->when and d->site; returns its number of entries. */
static u32 make_next(struct race_detector *d, const struct race_access_ctx *now,
		     const struct old *o, u32 like, bool full)
{
	u64 last = like < o->n ? o->when[like] : now->when;
	u32 site = like < o->n ? o->site[like] : now->site;
	bool write = now->site & RACE_CLASS_WRITE, added = like == o->n;
	u32 i, n = 0, reads = 0;

	for (i = 0; i < o->n; i++) {
		if ((write && i == like) || (added && is_stale(d, now, o, i, full)))
			continue;
		if (!(o->site[i] & RACE_CLASS_WRITE)) {
			d->when[n] = o->when[i];
			d->site[n] = o->site[i];
			reads = ++n;
		} else if (i + 1 == o->n && !write) {
			d->when[n] = o->when[i];
			d->site[n++] = o->site[i];
		} else {
			insert(d, reads, n++, o->when[i], o->site[i]);
		}
	}
	if (write) {
		d->when[n] = last;
		d->site[n++] = site;
	} else if (added) {
		/* Writes move up. */
		memmove(d->when + reads + 1, d->when + reads, (n - reads) * 8ul);
		memmove(d->site + reads + 1, d->site + reads, (n - reads) * 4ul);
		insert(d, 0, reads, last, site);
		n++;
	}
	return n;
}

static int next_state(struct race_detector *d, const struct race_access_ctx *now,
		      const struct old *o, u32 id, bool raced, u32 *out)
{
	bool full = raced || (o->flags & RACE_STATE_FULL) || d->options.mode & RACE_KEEP_ALL;
	u32 flags = raced ? RACE_STATE_FULL : o->flags, like, n;

	like = find_like(d, now, o, full);
	*out = id;
	/* Nothing changes? */
	if (like < o->n && flags == o->flags &&
	    (!(now->site & RACE_CLASS_WRITE) || like + 1 == o->n))
		return 0;
	if (room_for(d, o->n + 1))
		return -ENOMEM;
	n = make_next(d, now, o, like, full);
	if (full && n > FULL_MAX)
		n = make_next(d, now, o, find_like(d, now, o, false), false);
	if (n > RACE_STATE_MAX) {
		memmove(d->when, d->when + 1, --n * 8ul);
		memmove(d->site, d->site + 1, n * 4ul);
		d->dropped++;
	}
	return race_states_find(&d->mem, &d->states, flags, n, d->when, d->site, out);
}

int race_step(struct race_detector *d, const struct race_access_ctx *now, u32 id, u64 wrote,
	      u64 address, u32 size, u32 *out, bool *keep)
{
	static const u64 no_when;
	static const u32 no_site;
	struct old o = { 0, 0, &no_when, &no_site };
	struct race_state *s;
	bool raced = false;
	u32 i;

	if (id) {
		s = race_states_get(&d->states, id);
		o = (struct old){ race_state_n(s), s->info & RACE_STATE_FULL, race_state_when(s),
				  race_state_site(s) };
	} else if (d->options.mode & RACE_ONLY_WATCHED) {
		*out = 0;
		return 0;
	}
	for (i = 0; i < o.n; i++) {
		if (!conflict(o.site[i], now->site) || is_before(now->t, o.when[i]))
			continue;
		raced = true;
		add_report(d, now, o.when[i], o.site[i], address, size);
	}
	if (raced)
		*keep = false;
	if (o.n && now->flags & RACE_READ && o.site[o.n - 1] & RACE_CLASS_WRITE &&
	    conflict(o.site[o.n - 1], now->site) && !(d->options.mode & RACE_HB_ONLY) &&
	    saw_write(d, now, o.when[o.n - 1], wrote, keep))
		return -ENOMEM;
	return next_state(d, now, &o, id, raced, out);
}
