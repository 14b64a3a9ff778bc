// SPDX-License-Identifier: LGPL-2.1-or-later
/* Forget all accesses to a range of memory (race_forget()), or watch a range (race_watch()). */
#include <errno.h>

#include "internal.h"

/* Get the history of bytes with history @id after they are forgotten. */
static u32 renewed(const struct race_detector *d, u32 id)
{
	return id && d->watched ? d->watched : 0;
}

static int watched(struct race_detector *d, u32 id, u32 *out)
{
	struct access_history *s;

	*out = d->watched;
	if (!id)
		return 0;
	s = access_histories_get(&d->states, id);
	*out = id;
	if (s->info & ACCESS_HISTORY_FULL)
		return 0;
	return access_histories_find(&d->mem, &d->states, ACCESS_HISTORY_FULL, access_history_n(s),
				     access_history_when(s), access_history_site(s), out);
}

static int change_one(struct race_detector *d, u32 id, bool watch, u32 *out)
{
	if (watch)
		return watched(d, id, out);
	*out = renewed(d, id);
	return 0;
}

static int change_cell(struct race_detector *d, u32 *cell, u32 mask, bool watch)
{
	struct access_history *s = *cell ? access_histories_get(&d->states, *cell) : NULL;
	bool split = s && s->info & ACCESS_HISTORY_SPLIT;
	u32 part[8], b;
	int ret;

	if (!*cell && !watch)
		return 0;
	if (mask == 0xff && !split)
		return change_one(d, *cell, watch, cell);
	for (b = 0; b < 8; b++) {
		part[b] = split ? access_history_part(s)[b] : *cell;
		ret = mask >> b & 1 ? change_one(d, part[b], watch, &part[b]) : 0;
		if (ret)
			return ret;
	}
	return access_histories_find_split(&d->mem, &d->states, part, cell);
}

/*
 * Has a living thread, other than d->forgets, accessed the bytes with history @id since its last
 * release, other than to free them?
 */
static bool is_at_work(const struct race_detector *d, u32 id)
{
	struct access_history *s = id ? access_histories_get(&d->states, id) : NULL;
	const struct race_thread *t;
	u32 i, n = s ? access_history_n(s) : 0;
	u64 when;

	for (i = 0; i < n; i++) {
		when = access_history_when(s)[i];
		if (race_when_thread(when) == d->forgets)
			continue;
		t = &d->thread[race_when_thread(when)];
		if (t->life == RACE_LIVES && (when & RACE_EPOCH) >= t->since &&
		    !(race_sites_get(&d->sites, access_history_site(s)[i])->flags & RACE_FREE))
			return true;
	}
	return false;
}

/* Call race_ops.forgotten for those bytes @mask of the word at @address that are in use. */
static void tell_forgotten(const struct race_detector *d, u32 id, u32 mask, u64 address)
{
	struct access_history *s = id ? access_histories_get(&d->states, id) : NULL;
	bool split = s && s->info & ACCESS_HISTORY_SPLIT;
	u32 b;

	if (!split && is_at_work(d, id))
		d->ops.forgotten(d->ops.arg, address, RACE_WORD);
	for (b = 0; split && b < RACE_WORD; b++)
		if (mask >> b & 1 && is_at_work(d, access_history_part(s)[b]))
			d->ops.forgotten(d->ops.arg, address + b, 1);
}

/* Forget bytes @mask of word @i, which has a thread-local entry; the word is at @address. */
static void forget_own(struct race_detector *d, struct race_page *page, u32 i, u32 mask,
		       u64 address)
{
	struct race_local *o = race_local_get(&d->shadow.owns, page->cell[i]);
	const struct race_thread *t = &d->thread[o->thread];
	bool at_work = o->thread != d->forgets && t->life == RACE_LIVES;
	u32 b;

	for (b = 0; b < 8; b++) {
		if (!(mask >> b & 1))
			continue;
		if (d->ops.forgotten &&
		    ((at_work && race_local_since(o, b, t->since)) ||
		     (!(o->bare >> b & 1) && is_at_work(d, o->under))))
			d->ops.forgotten(d->ops.arg, address + b, 1);
		o->read[b] = o->wrote[b] = 0;
	}
	o->bare |= (u8)mask;
	if (mask == 0xff) {
		race_local_give(&d->shadow.owns, page->cell[i]);
		page->cell[i] = 0;
	}
}

/* Forget or watch bytes @from to @to of @page, whose first byte is at address @base. */
static int change_page(struct race_detector *d, struct race_page *page, u64 base, u32 from, u32 to,
		       bool watch)
{
	u32 i, mask;
	int ret = 0;

	for (i = from / 8; !ret && i <= to / 8; i++) {
		mask = 0xff;
		if (i == from / 8)
			mask &= 0xff << (from & 7);
		if (i == to / 8)
			mask &= 0xff >> (7 - (to & 7));
		if (page->cell[i] & RACE_LOCAL && !watch && !d->watched) {
			forget_own(d, page, i, mask, base + i * RACE_WORD);
			continue;
		}
		ret = page->cell[i] & RACE_LOCAL ? race_local_flush(d, page, i) : 0;
		if (ret)
			return ret;
		if (!watch && d->ops.forgotten)
			tell_forgotten(d, page->cell[i], mask, base + i * RACE_WORD);
		ret = change_cell(d, &page->cell[i], mask, watch);
	}
	return ret;
}

struct change {
	struct race_detector *d;
	u64 first, last;	/* first and last address of the range */
};

static int forget_page(void *arg, u64 number, struct race_page *page)
{
	struct change *c = arg;
	u64 base = number << RACE_PAGE_SHIFT;

	return change_page(c->d, page, base, c->first > base ? c->first - base : 0,
			   c->last - base < RACE_PAGE - 1 ? c->last - base : RACE_PAGE - 1, false);
}

static int forget(struct race_detector *d, u64 first, u64 last)
{
	u64 from = first >> RACE_PAGE_SHIFT, to = last >> RACE_PAGE_SHIFT;
	struct change c = { d, first, last };
	struct race_page *page;
	int ret;

	/* Fast path: most blocks that malloc() returns are within a page. */
	if (from == to && last - first != RACE_PAGE - 1) {
		page = race_shadow_find(&d->shadow, from);
		return page ? forget_page(&c, from, page) : 0;
	}
	/*
	 * If bytes are watched, no page is freed, and this is all. Otherwise it is needed only for
	 * race_ops.forgotten, and whole pages are freed below.
	 */
	if (d->watched || d->ops.forgotten) {
		ret = race_shadow_each(&d->shadow, from, to, forget_page, &c);
		if (ret || d->watched)
			return ret;
	}
	if (first % RACE_PAGE) {
		ret = race_shadow_each(&d->shadow, from, from, forget_page, &c);
		if (ret)
			return ret;
		from++;
	}
	if (last % RACE_PAGE != RACE_PAGE - 1) {
		ret = race_shadow_each(&d->shadow, to, to, forget_page, &c);
		if (ret)
			return ret;
		to--;
	}
	race_shadow_drop(&d->mem, &d->shadow, from, to);
	return 0;
}

static u64 last_of(u64 address, u64 size)
{
	return address + (size - 1) < address ? ~0ull : address + (size - 1);
}

int race_forget(struct race_detector *d, u64 address, u64 size)
{
	return race_forget_by(d, RACE_NO_THREAD, address, size);
}

int race_forget_by(struct race_detector *d, u32 thread, u64 address, u64 size)
{
	int ret;

	if (d->error || !size)
		return d->error;
	d->forgets = thread;
	ret = forget(d, address, last_of(address, size));
	if (!ret && race_collect_due(d))
		ret = race_gc(d, false);
	return race_fail(d, ret);
}

int race_watch(struct race_detector *d, u64 address, u64 size)
{
	u64 last = last_of(address, size), to;
	struct race_page *page;
	int ret = 0;

	if (d->error || !size)
		return d->error;
	if (!d->watched)
		ret = access_histories_find(&d->mem, &d->states, ACCESS_HISTORY_FULL, 0,
					    (u64[1]){ 0 }, (u32[1]){ 0 }, &d->watched);
	while (!ret) {
		to = address | (RACE_PAGE - 1);
		if (to > last)
			to = last;
		page = race_shadow_page(&d->mem, &d->shadow, address);
		if (!page)
			ret = -ENOMEM;
		else
			ret = change_page(d, page, address & ~(u64)(RACE_PAGE - 1),
					  address % RACE_PAGE, to % RACE_PAGE, true);
		if (to == last)
			break;
		address = to + 1;
	}
	return race_fail(d, ret);
}
