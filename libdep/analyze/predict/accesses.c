// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Memory accesses in race prediction. The first pass passes them to candidates.c. In the second
 * pass each shared shadow word keeps the last accesses of each thread: edges order the next access
 * after them. A candidate word, which may have a race, also keeps all its accesses.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

static bool same_event(const struct predict_event *a, const struct predict_event *b)
{
	return a->thread == b->thread && a->slot == b->slot && a->pc == b->pc &&
	       a->flags == b->flags && a->mask == b->mask && a->age == b->age;
}

static int add_event(struct predict *p, struct predict_cell *c, const struct predict_event *e)
{
	u32 i = c->nevents, tries = 16;
	int err;

	while (i-- && tries--)
		if (same_event(&c->event[i], e))
			return 0;
	predict_more(p, c->event, c->nevents, &c->events_room, &err);
	if (!err)
		c->event[c->nevents++] = *e;
	p->accesses++;
	return err;
}

/*
 * Add edges of an access: to the writes whose values it read (needed in each order), and to earlier
 * conflicting accesses (order of the recording).
 */
static int add_edges(struct predict *p, const struct predict_cell *c, u32 thread, u8 mask,
		     const struct predict_access *a)
{
	u64 at = p->thread[thread].now;
	int err = 0;
	u32 i;

	for (i = 0; a->flags & RACE_READ && i < c->nwrites && err >= 0; i++)
		if (c->write[i].mask & mask && c->write[i].thread != thread)
			err = predict_hard(p, thread, at, c->write[i].thread, c->write[i].at + 1,
					   c->write[i].place);
	for (i = 0; i < c->nlast && err >= 0; i++)
		if (c->last[i].mask & mask && c->last[i].thread != thread &&
		    (a->flags & RACE_WRITE || c->last[i].write))
			err = predict_soft(p, thread, at, c->last[i].thread, c->last[i].at + 1,
					   a->place);
	return err < 0 ? err : 0;
}

static int set_last(struct predict *p, struct predict_cell *c, u32 thread, u64 at, u8 mask,
		    bool write)
{
	u32 i = 0;
	int err;

	while (i < c->nlast && (c->last[i].thread != thread || c->last[i].write != write))
		i++;
	if (i == c->nlast) {
		predict_more(p, c->last, c->nlast, &c->last_room, &err);
		if (err)
			return err;
		c->last[c->nlast++] = (struct predict_last){ .thread = thread, .write = write };
	}
	c->last[i].at = at;
	c->last[i].mask |= mask;
	return 0;
}

static int set_writer(struct predict *p, struct predict_cell *c, u32 thread, u64 at, u8 mask,
		      u32 place)
{
	u32 i, n = 0;
	int err;

	for (i = 0; i < c->nwrites; i++) {
		c->write[i].mask &= ~mask;
		if (c->write[i].mask)
			c->write[n++] = c->write[i];
	}
	c->nwrites = n;
	predict_more(p, c->write, n, &c->writes_room, &err);
	if (!err)
		c->write[c->nwrites++] = (struct predict_write){ at, thread, place, mask };
	return err;
}

static int access_cell(struct predict *p, u32 thread, struct predict_page *page, u32 i, u8 mask,
		       const struct predict_access *a)
{
	struct predict_thread *t = &p->thread[thread];
	struct predict_cell *c;
	u64 at = t->now;
	int err;

	if (!page->cell)
		page->cell = predict_alloc(p, PREDICT_CELLS * sizeof(*page->cell));
	if (page->cell && !page->cell[i])
		page->cell[i] = predict_alloc(p, sizeof(**page->cell));
	if (!page->cell || !page->cell[i])
		return -errno;
	c = page->cell[i];
	err = add_edges(p, c, thread, mask, a);
	if (!err && page->mark[i] & PREDICT_CANDIDATE)
		err = add_event(p, c, &(struct predict_event){
			.at = at, .slot = t->slot, .pc = a->pc, .thread = thread, .flags = a->flags,
			.set = t->set, .age = c->age, .mask = mask,
		});
	if (!err && a->flags & RACE_READ)
		err = set_last(p, c, thread, at, mask, false);
	if (!err && a->flags & RACE_WRITE)
		err = set_last(p, c, thread, at, mask, true);
	if (!err && a->flags & RACE_WRITE)
		err = set_writer(p, c, thread, at, mask, a->place);
	return err;
}

static u8 mask_of(u64 word, u64 address, u64 last)
{
	u64 begin = word * PREDICT_WORD, end = begin + PREDICT_WORD - 1;
	u8 mask = 0xff;

	if (address > begin)
		mask &= (u8)(0xff << (address - begin));
	if (last < end)
		mask &= 0xff >> (end - last);
	return mask;
}

int predict_access(struct predict *p, u32 thread, const struct predict_access *a, bool known)
{
	u64 address = a->address, last = address + a->size - 1, g;
	struct predict_page *page = NULL;
	bool shared = false;
	int err;

	if (!a->size || last < address || !predict_take_event(p))
		return 0;
	err = predict_reach(p, thread);
	for (g = address / PREDICT_WORD; !err && g <= last / PREDICT_WORD; g++) {
		u32 cell = g % PREDICT_CELLS;
		u8 mask = mask_of(g, address, last);

		if (!page || !cell)
			page = predict_page(p, g / PREDICT_CELLS, !p->again && !known);
		if (!page && errno) {
			err = -errno;
		} else if (!page || (p->again && !page->marked) || (known && !p->again &&
								    !page->entry)) {
			g |= PREDICT_CELLS - 1;
			page = NULL;
		} else if (!p->again) {
			err = predict_candidate(p, thread, page, cell, mask, a->flags);
		} else if (page->mark[cell] & PREDICT_SHARED) {
			err = access_cell(p, thread, page, cell, mask, a);
			shared = true;
		}
	}
	if (shared)
		p->thread[thread].now++;
	return predict_result(p, err);
}

static void forget_cell(struct predict_cell *c, u8 mask)
{
	u32 i, n = 0;

	c->age++;
	for (i = 0; i < c->nwrites; i++) {
		c->write[i].mask &= ~mask;
		if (c->write[i].mask)
			c->write[n++] = c->write[i];
	}
	c->nwrites = n;
	for (i = 0; i < c->nlast; i++)
		c->last[i].mask &= ~mask;
}

static void forget_entry(struct predict *p, struct predict_entry *e, u8 mask)
{
	struct predict_entries *l = e->more ? &p->entries[e->set] : NULL;
	u32 i, n = 0;

	if (!l) {
		e->mask &= ~mask;
		return;
	}
	for (i = 0; i < l->n; i++) {
		l->v[i].mask &= ~mask;
		if (l->v[i].mask)
			l->v[n++] = l->v[i];
	}
	l->n = n;
}

void predict_forget(struct predict *p, u64 address, u64 size)
{
	u64 last = address + size - 1, g;
	struct predict_page *page = NULL;

	if (!size || last < address || !predict_take_event(p))
		return;
	for (g = address / PREDICT_WORD; g <= last / PREDICT_WORD; g++) {
		u32 cell = g % PREDICT_CELLS;
		u8 mask = mask_of(g, address, last);

		if (!page || !cell)
			page = predict_page(p, g / PREDICT_CELLS, false);
		if (!page) {
			g |= PREDICT_CELLS - 1;
			continue;
		}
		if (page->entry)
			forget_entry(p, &page->entry[cell], mask);
		if (page->cell && page->cell[cell])
			forget_cell(page->cell[cell], mask);
	}
}
