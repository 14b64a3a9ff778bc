/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shadow memory: for each aligned 8-byte granule of the program's the id of its state
 * (state.h), and when it was written last.
 *
 * A hash table of regions of 4 MiB, each with a table of pages of 4 KiB; any 64-bit
 * address will do.  12 bytes for each 8 of pages that were touched.
 */
#ifndef DEP_RACES_SHADOW_H
#define DEP_RACES_SHADOW_H

#include "mem.h"

#define RACE_PAGE_SHIFT		12u
#define RACE_PAGE		(1u << RACE_PAGE_SHIFT)
#define RACE_CELLS		(RACE_PAGE / 8)
#define RACE_REGION_SHIFT	22u
#define RACE_REGION_PAGES	(1u << (RACE_REGION_SHIFT - RACE_PAGE_SHIFT))
#define RACE_LATEST		256u

/**
 * struct race_page - of 4 KiB of the program's memory
 * @wrote: the time of the last write to any byte of a granule, exactly; it means nothing
 *	before there is a write in the granule's state
 */
struct race_page {
	u32 cell[RACE_CELLS];
	u64 wrote[RACE_CELLS];
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

/** race_shadow_page() - race_shadow_make(), quick for a page that was used lately */
static inline struct race_page *race_shadow_page(struct race_mem *m, struct race_shadow *s,
						 u64 address)
{
	u64 number = address >> RACE_PAGE_SHIFT;
	u32 i = number % RACE_LATEST;

	if (s->latest[i].number == number && s->latest[i].page)
		return s->latest[i].page;
	return race_shadow_make(m, s, number);
}

#endif
