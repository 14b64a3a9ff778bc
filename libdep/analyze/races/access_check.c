// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Check one access against one access history: find races, and compute the next history.
 *
 * An earlier access p can be dropped for a later access q if q is ordered after p and conflicts
 * with everything that p conflicts with: an access that is not ordered after p is not ordered after
 * q either. FastTrack uses this with one epoch for writes, and an epoch or a vector for reads. Here
 * a history is a list of accesses, which nearly always has one entry.
 */
#include <errno.h>

#include "internal.h"

/* maximum number of accesses kept in the history of a byte that has raced */
#define FULL_MAX	256u

static bool conflict(u32 a, u32 b)
{
	return ((a | b) & RACE_CLASS_WRITE) &&
	       !(a & b & (RACE_CLASS_ATOMIC | RACE_CLASS_INSIDE));
}

/* Does an access of class @a conflict with all classes that @b conflicts with? */
static bool covers(u32 a, u32 b)
{
	u32 spared = RACE_CLASS_ATOMIC | RACE_CLASS_INSIDE;

	a &= RACE_CLASS;
	b &= RACE_CLASS;
	return !(b & ~a & RACE_CLASS_WRITE) && !(a & ~b & spared);
}

/* Is the access at time @when ordered before the current access of @t? */
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
 * The access @now reads a value that was written at @when, or later in that interval. If @now is
 * not ordered after that write, add an SHB edge, and clear *@keep: the result depends on @wrote,
 * which differs between bytes with the same history.
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

/* The access history before the current access. */
struct old {
	u32 n, flags;
	const u64 *when;
	const u32 *site;
};

/*
 * Is time @when in the same interval of the same thread as the access @now? If @now is a read, all
 * intervals since the thread's last release count as one, since another thread is ordered after all
 * accesses since then, or after none.
 */
static bool together(const struct race_access_ctx *now, u64 when)
{
	if (now->site & RACE_CLASS_WRITE)
		return race_same_interval(when, now->when);
	return race_when_thread(when) == now->thread && (when & RACE_EPOCH) >= now->t->since;
}

/*
 * Is exactly one of @site and @now a free of the memory? Then both accesses must be kept, because
 * race_ops.forgotten does not count frees.
 */
static bool frees(const struct race_detector *d, const struct race_access_ctx *now, u32 site)
{
	return d->ops.forgotten &&
	       (race_sites_get(&d->sites, site)->flags ^ now->flags) & RACE_FREE;
}

/* Find an entry of the history that makes it unnecessary to add @now; o->n: none. */
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
		/* A write is replaced by a write of its class only: the last write must remain. */
		if (class & RACE_CLASS_WRITE ? c == class : covers(c, class)) {
			if (at == o->n)
				at = i;
			like++;
		}
	}
	return !full && like >= places ? at : o->n;
}

/* Does the access @now make entry @i of the history unnecessary? */
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

/* Insert an entry into the @n entries of d->when and d->site, sorted from index @from on. */
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

/* Write the history after the access to d->when and d->site. Return: number of its entries. */
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
		/* Make room for the read before the writes. */
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
	bool full = raced || (o->flags & ACCESS_HISTORY_FULL) || d->options.mode & RACE_KEEP_ALL;
	u32 flags = raced ? ACCESS_HISTORY_FULL : o->flags, like, n;

	like = find_like(d, now, o, full);
	*out = id;
	/* Return @id if the history does not change. */
	if (like < o->n && flags == o->flags &&
	    (!(now->site & RACE_CLASS_WRITE) || like + 1 == o->n))
		return 0;
	if (room_for(d, o->n + 1))
		return -ENOMEM;
	n = make_next(d, now, o, like, full);
	if (full && n > FULL_MAX)
		n = make_next(d, now, o, find_like(d, now, o, false), false);
	if (n > ACCESS_HISTORY_MAX) {
		memmove(d->when, d->when + 1, --n * 8ul);
		memmove(d->site, d->site + 1, n * 4ul);
		d->dropped++;
	}
	return access_histories_find(&d->mem, &d->states, flags, n, d->when, d->site, out);
}

int race_step(struct race_detector *d, const struct race_access_ctx *now, u32 id, u64 wrote,
	      u64 address, u32 size, u32 *out, bool *keep)
{
	static const u64 no_when;
	static const u32 no_site;
	struct old o = { 0, 0, &no_when, &no_site };
	struct access_history *s;
	bool raced = false;
	u32 i;

	if (id) {
		s = access_histories_get(&d->states, id);
		o = (struct old){access_history_n(s), s->info & ACCESS_HISTORY_FULL,
				 access_history_when(s), access_history_site(s)};
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
