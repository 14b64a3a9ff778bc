// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stddef.h>

#include "shadow.h"

#define PAGES_LOG	(RACE_REGION_SHIFT - RACE_PAGE_SHIFT)

static u32 hash(u64 number)
{
	return (number * 0x9e3779b97f4a7c15u) >> 32;
}

/* Find the hash table slot of region @number, or the free slot for it; there is always one. */
static struct race_region **slot_of(const struct race_shadow *s, u64 number)
{
	u32 i = hash(number) & (s->room - 1);

	while (s->region[i] && s->region[i]->number != number)
		i = (i + 1) & (s->room - 1);
	return &s->region[i];
}

struct race_page *race_shadow_find(struct race_shadow *s, u64 number)
{
	struct race_region *r = s->room ? *slot_of(s, number >> PAGES_LOG) : NULL;
	struct race_page *page = r ? r->page[number % RACE_REGION_PAGES] : NULL;

	if (page) {
		s->latest[number % RACE_LATEST].number = number;
		s->latest[number % RACE_LATEST].page = page;
	}
	return page;
}

static int grow(struct race_mem *m, struct race_shadow *s)
{
	struct race_region **old = s->region;
	u32 i, n = s->room;

	s->room = n ? n * 2 : 64;
	s->region = race_alloc(m, RACE_MEM_SHADOW, s->room * sizeof(*old));
	if (!s->region) {
		s->region = old;
		s->room = n;
		return -ENOMEM;
	}
	for (i = 0; i < n; i++)
		if (old[i])
			*slot_of(s, old[i]->number) = old[i];
	race_free(m, RACE_MEM_SHADOW, old, n * sizeof(*old));
	return 0;
}

static struct race_region *make_region(struct race_mem *m, struct race_shadow *s, u64 number)
{
	struct race_region **at, *r;

	if (2 * s->nregions >= s->room && grow(m, s))
		return NULL;
	at = slot_of(s, number);
	r = *at;
	if (r)
		return r;
	r = race_alloc(m, RACE_MEM_SHADOW, sizeof(*r));
	if (!r)
		return NULL;
	r->number = number;
	s->nregions++;
	return *at = r;
}

static size_t size_of_page(const struct race_shadow *s)
{
	return s->untimed ? offsetof(struct race_page, each) : sizeof(struct race_page);
}

struct race_page *race_shadow_make(struct race_mem *m, struct race_shadow *s, u64 number)
{
	struct race_page *page = race_shadow_find(s, number);
	struct race_region *r;

	if (page)
		return page;
	r = make_region(m, s, number >> PAGES_LOG);
	if (!r)
		return NULL;
	page = race_alloc(m, RACE_MEM_SHADOW, size_of_page(s));
	if (!page)
		return NULL;
	r->page[number % RACE_REGION_PAGES] = page;
	r->pages++;
	s->pages++;
	return race_shadow_find(s, number);
}

/* Remove times that no word of the page uses. Return: number of times left. */
static u32 sweep(struct race_page *page)
{
	u8 to[RACE_TIMES], n = 0;
	u32 used = 0, i;

	for (i = 0; i < RACE_CELLS; i++)
		used |= 1u << page->of[i];
	for (i = 0; i <= page->top; i++) {
		if (!(used >> i & 1))
			continue;
		page->time[n] = page->time[i];
		to[i] = n++;
	}
	for (i = 0; i < RACE_CELLS; i++)
		page->of[i] = to[page->of[i]];
	page->top = n - 1;
	return n;
}

static int spread(struct race_mem *m, struct race_page *page)
{
	u64 *each = race_alloc(m, RACE_MEM_SHADOW, RACE_CELLS * sizeof(*each));
	u32 i;

	if (!each)
		return -ENOMEM;
	for (i = 0; i < RACE_CELLS; i++)
		each[i] = page->time[page->of[i]];
	page->each = each;
	return 0;
}

int race_page_write_slowly(struct race_mem *m, struct race_page *page, u32 i, u64 when)
{
	u32 k = 0;

	while (k <= page->top && page->time[k] != when)
		k++;
	/*
	 * If more than half of the times are in use, the table would soon be full again: give each
	 * word its own time.
	 */
	if (k == RACE_TIMES) {
		k = sweep(page);
		if (k > RACE_TIMES / 2 && spread(m, page))
			return -ENOMEM;
	}
	if (page->each) {
		page->each[i] = when;
		return 0;
	}
	if (k > page->top) {
		page->top = (u8)k;
		page->time[k] = when;
	}
	page->last = page->of[i] = (u8)k;
	return 0;
}

static void free_page(struct race_mem *m, struct race_shadow *s, struct race_page *page)
{
	u32 i;

	for (i = 0; i < RACE_CELLS; i++)
		if (page->cell[i] & RACE_LOCAL)
			race_local_give(&s->owns, page->cell[i]);
	if (!s->untimed)
		race_free(m, RACE_MEM_SHADOW, page->each, RACE_CELLS * sizeof(*page->each));
	race_free(m, RACE_MEM_SHADOW, page, size_of_page(s));
}

static int each_of(struct race_region *r, u64 first, u64 last,
		   int (*f)(void *arg, u64 number, struct race_page *page), void *arg)
{
	u64 base = r->number << PAGES_LOG, i = 0, n = RACE_REGION_PAGES - 1;
	int ret;

	if (last < base || first > base + n)
		return 0;
	if (first > base)
		i = first - base;
	if (last < base + n)
		n = last - base;
	for (; i <= n; i++) {
		ret = r->page[i] ? f(arg, base + i, r->page[i]) : 0;
		if (ret)
			return ret;
	}
	return 0;
}

int race_shadow_each(struct race_shadow *s, u64 first, u64 last,
		     int (*f)(void *arg, u64 number, struct race_page *page), void *arg)
{
	u64 from = first >> PAGES_LOG, to = last >> PAGES_LOG, i;
	struct race_region *r;
	int ret = 0;

	if (!s->room)
		return 0;
	if (to - from < s->room) {
		for (i = from; i <= to && !ret; i++) {
			r = *slot_of(s, i);
			ret = r ? each_of(r, first, last, f, arg) : 0;
		}
		return ret;
	}
	for (i = 0; i < s->room && !ret; i++)
		if (s->region[i])
			ret = each_of(s->region[i], first, last, f, arg);
	return ret;
}

struct drop {
	struct race_mem *m;
	struct race_shadow *s;
};

static int drop_page(void *arg, u64 number, struct race_page *page)
{
	struct drop *d = arg;
	struct race_region *r = *slot_of(d->s, number >> PAGES_LOG);

	if (d->s->latest[number % RACE_LATEST].page == page)
		d->s->latest[number % RACE_LATEST].page = NULL;
	r->page[number % RACE_REGION_PAGES] = NULL;
	r->pages--;
	d->s->pages--;
	free_page(d->m, d->s, page);
	return 0;
}

/* Free regions without pages if more than half of the regions have none. */
static void drop_regions(struct race_mem *m, struct race_shadow *s)
{
	struct race_region **old = s->region;
	u32 i, used = 0;

	for (i = 0; i < s->room; i++)
		used += old[i] && old[i]->pages;
	if (s->nregions < 64 || used > s->nregions / 2)
		return;
	s->region = race_alloc(m, RACE_MEM_SHADOW, s->room * sizeof(*old));
	if (!s->region) {
		s->region = old;
		return;
	}
	for (i = 0; i < s->room; i++) {
		if (!old[i])
			continue;
		if (old[i]->pages)
			*slot_of(s, old[i]->number) = old[i];
		else
			race_free(m, RACE_MEM_SHADOW, old[i], sizeof(**old));
	}
	s->nregions = used;
	race_free(m, RACE_MEM_SHADOW, old, s->room * sizeof(*old));
}

void race_shadow_drop(struct race_mem *m, struct race_shadow *s, u64 first, u64 last)
{
	struct drop d = { m, s };

	if (first > last)
		return;
	race_shadow_each(s, first, last, drop_page, &d);
	if (last - first >= RACE_REGION_PAGES)
		drop_regions(m, s);
}

void race_shadow_free(struct race_mem *m, struct race_shadow *s)
{
	u32 i;

	race_shadow_drop(m, s, 0, ~0ull);
	for (i = 0; i < s->room; i++)
		race_free(m, RACE_MEM_SHADOW, s->region[i], sizeof(*s->region[i]));
	race_free(m, RACE_MEM_SHADOW, s->region, s->room * sizeof(*s->region));
	race_owns_free(m, &s->owns);
}
