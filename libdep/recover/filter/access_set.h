/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Access set: the bytes that a thread has accessed in the current interval.
 *
 * Each page has two bits per byte, read and written; a written byte counts as read, too.  A
 * direct-mapped cache, indexed by the low bits of the page number, finds the page.  Machine code
 * looks into the same cache (jit/record_code.c).  Behind it is a hash table of all pages.
 *
 * A new interval does not clear the bits.  Its number is part of each cache key and page, so older
 * entries miss.  Accesses of origin DEP_ORIGIN_IGNORED never expire and are never emitted.
 */
#ifndef ADEPT_RECOVER_FILTER_ACCESS_SET_H
#define ADEPT_RECOVER_FILTER_ACCESS_SET_H

#include <stdbool.h>

#include "dep/recover.h"
#include "libdep/abi/types.h"
#include "page_accesses.h"

#define DEP_ACCESS_SET_PAGE	DEP_ACCESS_PAGE_SIZE
#define DEP_ACCESS_SET_CACHE	1024u
#define DEP_ACCESS_SET_PAGES	8192u		/* maximum */
#define DEP_ACCESS_SET_AT_ONCE	57u	/* bytes that one lookup covers at any alignment */

/* Cache key: page number, 52 bits; origin, 2 bits; interval number that is not 0, 10 bits. */
#define DEP_ACCESS_SET_ORIGIN	52
#define DEP_ACCESS_SET_ORIGINS	4u
#define DEP_ORIGIN_IGNORED	3u	/* an origin */
#define DEP_ACCESS_SET_INTERVAL	54
/* The number of DEP_ORIGIN_IGNORED; an empty entry has the next one. */
#define DEP_ACCESS_SET_INTERVALS 1022u

/* Each array has a word after the last byte's, which stays 0: lookups can read past the end. */
struct dep_access_page {
	u64 place;		/* page number and origin, as in a key */
	u64 turn;		/* the interval that its bits belong to */
	u64 used;		/* a bit for each word that is not 0 */
	u64 later;		/* a bit for each word that dep_access_set_flush() must look at */
	u64 pc;			/* of the first deferred access */
	u64 read[DEP_ACCESS_SET_PAGE / 64 + 1], wrote[DEP_ACCESS_SET_PAGE / 64 + 1];
	struct { u64 read, wrote; } emitted[DEP_ACCESS_SET_PAGE / 64];
	struct dep_access_page *next;	/* in the same bucket */
	struct dep_access_page *next_deferred;
};

/** struct dep_filter_access - one access; @pc: of any access of the same origin */
struct dep_filter_access {
	u64 pc, addr;
	u32 size;
	u8 who;
	bool write;
};

/**
 * struct dep_access_set_flushed - deferred accesses to the page at @addr
 * @words: a bit for each 64 bytes that have any
 * @nwords: number of bits in @words, and of elements of @word
 * @word: for each of these 64 bytes, which were written and which only read
 */
struct dep_access_set_flushed {
	u64 pc, addr, words;
	u16 nwords;
	u8 who;
	struct dep_page_word *word;	/* from the caller, DEP_JOINED_WORDS of them */
};

struct dep_access_block;

struct dep_access_set {
	/* The cache: a key, and the page that it finds. */
	u64 key[DEP_ACCESS_SET_CACHE];
	struct dep_access_page *page[DEP_ACCESS_SET_CACHE];
	u64 turn;
	u32 stamp;
	u32 pages, oldest;	/* @oldest: the next one to check for reuse */
	struct dep_access_page **bucket;
	struct dep_access_block **block;
	struct dep_access_page *later;	/* list of pages with deferred accesses */
};

/** dep_access_set_init() - 0 or -ENOMEM; call dep_access_set_free() in both cases */
int dep_access_set_init(struct dep_access_set *s);
void dep_access_set_free(struct dep_access_set *s);

/** dep_access_set_new_interval() - begin an interval; discards what is still deferred */
void dep_access_set_new_interval(struct dep_access_set *s);

/**
 * dep_access_set_add() - add an access of any size
 *
 * Return: was any byte new?  Also true if the access could not be added.
 */
bool dep_access_set_add(struct dep_access_set *s, const struct dep_filter_access *a);

/**
 * dep_access_set_defer() - add an access whose new bytes dep_access_set_flush() reports
 *
 * Return: false if it could not be added.
 */
bool dep_access_set_defer(struct dep_access_set *s, const struct dep_filter_access *a);
/**
 * dep_access_set_near() - add several accesses at once, if they are in one page
 * @tag: dep_access_set_tag() of their origin
 * @read: a bit for each byte from @addr on that was only read
 * @wrote: a bit for each byte that was written
 * @later: defer the new bytes; else nothing is flushed
 *
 * Return: false if nothing was added.
 */
bool dep_access_set_near(struct dep_access_set *s, u64 tag, u64 pc, u64 addr, u64 read, u64 wrote,
			 bool later);
/**
 * dep_access_set_flush() - get the deferred accesses of one page
 *
 * Call it until it returns false, before the next interval begins.  @out->words can be 0.
 *
 * Return: false if no page has any.
 */
bool dep_access_set_flush(struct dep_access_set *s, struct dep_access_set_flushed *out);

/**
 * dep_access_set_is_deferred() - is any byte of the range deferred?
 *
 * Return: true also for a range that dep_access_set_forget() refuses.
 */
bool dep_access_set_is_deferred(const struct dep_access_set *s, u64 addr, u64 size);

/**
 * dep_access_set_forget() - make a range new; no byte of it may be deferred
 *
 * Return: false, with no effect, if the range wraps or has more pages than the set.  The caller
 * begins a new interval instead.
 */
bool dep_access_set_forget(struct dep_access_set *s, u64 addr, u64 size);

/** dep_access_set_is_filling() - should deferred accesses be flushed soon to free pages? */
static inline bool dep_access_set_is_filling(const struct dep_access_set *s)
{
	return s->pages > DEP_ACCESS_SET_PAGES / 2;
}

/** dep_access_set_tag() - the part of a cache key that is not the page number; never 0 */
static inline u64 dep_access_set_tag(const struct dep_access_set *s, u8 who)
{
	u64 stamp = who == DEP_ORIGIN_IGNORED ? DEP_ACCESS_SET_INTERVALS : s->stamp;

	return stamp << DEP_ACCESS_SET_INTERVAL | (u64)who << DEP_ACCESS_SET_ORIGIN;
}

/**
 * dep_access_set_has() - look up @size bytes at @addr in the cache
 * @tag: dep_access_set_tag(), or 0: nothing was accessed
 * @size: 1 to DEP_ACCESS_SET_AT_ONCE
 *
 * Return: true if all were accessed; false also if the page is not in the cache.
 */
static inline bool dep_access_set_has(const struct dep_access_set *s, u64 tag, u64 addr, u32 size,
				      bool write)
{
	u32 way = addr / DEP_ACCESS_SET_PAGE % DEP_ACCESS_SET_CACHE;
	u64 bits = ~0ull >> (64 - size), have;
	const u64 *word;

	if (s->key[way] != (addr / DEP_ACCESS_SET_PAGE | tag))
		return false;
	word = write ? s->page[way]->wrote : s->page[way]->read;
	__builtin_memcpy(&have, (const u8 *)word + addr % DEP_ACCESS_SET_PAGE / 8, 8);
	return !(bits & ~(have >> (addr & 7)));
}

#endif
