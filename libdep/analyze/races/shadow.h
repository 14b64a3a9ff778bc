/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shadow memory: for each aligned 8 bytes (a shadow word) the id of their access history
 * (access_history.h) and the time of their last write.
 *
 * It is a hash table of regions of 4 MiB; each region has a table of pages of 4 KiB. So any 64-bit
 * address can have a shadow. A page takes 5.5 bytes for each shadow word, since most pages have few
 * different times of writes; a page with many times takes 8 bytes more per word.
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
 * struct race_page - shadow of 4 KiB of the program's memory
 * @cell: by word: id of an access history, or a thread-local entry (local_shadow.h)
 * @settled: number of thread-local entries that were turned back into histories; no more entries
 *	are made after RACE_SETTLED_MAX
 *
 * The other fields do not exist with race_shadow.untimed:
 * @each: by word: time of the last write; NULL: that time is time[of[word]]
 * @last: index in @time of the time set last
 * @top: highest index in use in @time
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
	u64 number;		/* number of the region: address / 4 MiB */
	u32 pages;
	struct race_page *page[RACE_REGION_PAGES];
};

struct race_shadow {
	/* direct-mapped cache of pages, by the low bits of their numbers */
	struct {
		u64 number;
		struct race_page *page;
	} latest[RACE_LATEST];
	struct race_region **region;	/* hash table of regions, with open addressing */
	u32 nregions, room;		/* @room: size of @region, a power of two, or 0 */
	u64 pages;
	bool untimed;		/* do not store the times of writes */
	struct race_owns owns;
};

/** race_shadow_find() - find the page with number @number (address / 4 KiB); NULL: none */
struct race_page *race_shadow_find(struct race_shadow *s, u64 number);
/** race_shadow_make() - find or make the page with number @number; NULL: no memory */
struct race_page *race_shadow_make(struct race_mem *m, struct race_shadow *s, u64 number);
/** race_shadow_drop() - free the pages @first..@last; fast even if the range has few pages */
void race_shadow_drop(struct race_mem *m, struct race_shadow *s, u64 first, u64 last);
/** race_shadow_each() - call @f for each existing page of @first..@last until @f returns nonzero */
int race_shadow_each(struct race_shadow *s, u64 first, u64 last,
		     int (*f)(void *arg, u64 number, struct race_page *page), void *arg);
void race_shadow_free(struct race_mem *m, struct race_shadow *s);

/**
 * race_page_wrote() - get the exact time of the last write to word @i
 *
 * Undefined unless the word's access history has a write.
 */
static inline u64 race_page_wrote(const struct race_page *page, u32 i)
{
	return page->each ? page->each[i] : page->time[page->of[i]];
}

/**
 * race_page_write_slowly() - race_page_write() for a page without @each, if @when is not
 * page->time[page->last]
 */
int race_page_write_slowly(struct race_mem *m, struct race_page *page, u32 i, u64 when);

/** race_page_write() - set the time of the last write to word @i; 0 or -ENOMEM */
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

/** race_shadow_latest() - get the page of @address if it is in the cache; NULL: it is not */
static inline struct race_page *race_shadow_latest(const struct race_shadow *s, u64 address)
{
	u64 number = address >> RACE_PAGE_SHIFT;
	u32 i = number % RACE_LATEST;

	return s->latest[i].number == number ? s->latest[i].page : NULL;
}

/** race_shadow_page() - find or make the page of @address, using the cache; NULL: no memory */
static inline struct race_page *race_shadow_page(struct race_mem *m, struct race_shadow *s,
						 u64 address)
{
	struct race_page *page = race_shadow_latest(s, address);

	return page ? page : race_shadow_make(m, s, address >> RACE_PAGE_SHIFT);
}

#endif
