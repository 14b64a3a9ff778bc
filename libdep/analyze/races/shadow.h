/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shadow memory: for each aligned 8-byte granule of the program's the id of its state
 * (access_history.h), and when it was written last.
 *
 * A hash table of regions of 4 MiB, each with a table of pages of 4 KiB; any 64-bit
 * address will do.  5 and a half bytes for each 8 of pages that were touched: granules of a page
 * have few different times, mostly.  Where they have many, it is 8 more.
 */
#ifndef ADEPT_ANALYZE_RACES_SHADOW_H
#define ADEPT_ANALYZE_RACES_SHADOW_H

#include "local_shadow.h"

#define RACE_PAGE_SHIFT		12u
#define RACE_PAGE		(1u << RACE_PAGE_SHIFT)
#define RACE_CELLS		(RACE_PAGE / 8)
#define RACE_REGION_SHIFT	22u
#define RACE_REGION_PAGES	(1u << (RACE_REGION_SHIFT - RACE_PAGE_SHIFT))
#define RACE_LATEST		1024u
#define RACE_TIMES		24u

#define RACE_SETTLED_MAX	64u

/**
 * struct race_page - of 4 KiB of the program's memory
 * @cell: an id, or a record (local_shadow.h)
 * @settled: how many records became states again; at RACE_SETTLED_MAX no more are made
 * What follows is not there with race_shadow.untimed:
 * @each: the times of all granules, or NULL: then @time[@of[]] has them
 * @last: number of the time that was set last; @top: of the highest one that is in use
 */
struct race_page {
	u32 cell[RACE_CELLS];
	u64 settled;
	u64 *each;
	u64 time[RACE_TIMES];
	u8 last, top;
	u8 of[RACE_CELLS];
};

struct race_region {
	u64 number;		/* address / 4 MiB */
	u32 pages;
	struct race_page *page[RACE_REGION_PAGES];
};

struct race_shadow {
	/* pages that were looked up lately, by the low bits of their numbers */
	struct {
		u64 number;
		struct race_page *page;
	} latest[RACE_LATEST];
	struct race_region **region;	/* open addressing */
	u32 nregions, room;		/* room: a power of two, or 0 */
	u64 pages;
	bool untimed;		/* when granules were written is not kept */
	struct race_owns owns;
};

/** race_shadow_find() - the page with number @number (address / 4 KiB), or NULL */
struct race_page *race_shadow_find(struct race_shadow *s, u64 number);
/** race_shadow_make() - the same, but a new one if there is none; NULL: no memory */
struct race_page *race_shadow_make(struct race_mem *m, struct race_shadow *s, u64 number);
/** race_shadow_drop() - free pages @first..@last; takes no longer than there are pages */
void race_shadow_drop(struct race_mem *m, struct race_shadow *s, u64 first, u64 last);
/** race_shadow_each() - call @f for each page until it does not return 0 */
int race_shadow_each(struct race_shadow *s, u64 first, u64 last,
		     int (*f)(void *arg, u64 number, struct race_page *page), void *arg);
void race_shadow_free(struct race_mem *m, struct race_shadow *s);

/**
 * race_page_wrote() - when any byte of granule @i was written last, exactly
 *
 * It means nothing before there is a write in the granule's state.
 */
static inline u64 race_page_wrote(const struct race_page *page, u32 i)
{
	return page->each ? page->each[i] : page->time[page->of[i]];
}

/** race_page_write_slowly() - race_page_write() of another time than the last; not with @each */
int race_page_write_slowly(struct race_mem *m, struct race_page *page, u32 i, u64 when);

/** race_page_write() - granule @i is written at @when; 0 or -ENOMEM */
static inline int race_page_write(struct race_mem *m, struct race_page *page, u32 i, u64 when)
{
	if (page->each)
		page->each[i] = when;
	else if (page->time[page->last] == when)
		page->of[i] = page->last;
	else
		return race_page_write_slowly(m, page, i, when);
	return 0;
}

/** race_shadow_latest() - the page of @address, if it was used lately; or NULL */
static inline struct race_page *race_shadow_latest(const struct race_shadow *s, u64 address)
{
	u64 number = address >> RACE_PAGE_SHIFT;
	u32 i = number % RACE_LATEST;

	return s->latest[i].number == number ? s->latest[i].page : NULL;
}

/** race_shadow_page() - race_shadow_make(), quick for a page that was used lately */
static inline struct race_page *race_shadow_page(struct race_mem *m, struct race_shadow *s,
						 u64 address)
{
	struct race_page *page = race_shadow_latest(s, address);

	return page ? page : race_shadow_make(m, s, address >> RACE_PAGE_SHIFT);
}

#endif
