/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Access set: the bytes that a thread has accessed in the current interval.
 *
 * Each page has two bits per byte, read and written; a written byte counts as read, too.  Pages are
 * in a hash table.  In front of the table is a direct-mapped cache, indexed by the low bits of the
 * page number, which machine code reads, too (jit/record_code.c).
 *
 * A new interval does not clear the bits.  Each cache key and page has the number of its interval,
 * so lookups ignore those of older intervals.  Accesses of origin DEP_ORIGIN_IGNORED never expire
 * and are never emitted.
 */
#ifndef ADEPT_RECOVER_FILTER_ACCESS_SET_H
#define ADEPT_RECOVER_FILTER_ACCESS_SET_H

#include <stdbool.h>

#include "dep/recover.h"
#include "libdep/abi/types.h"
#include "page_accesses.h"

#define DEP_ACCESS_SET_PAGE	DEP_ACCESS_PAGE_SIZE
#define DEP_ACCESS_SET_CACHE	1024u
#define DEP_ACCESS_SET_PAGES	8192u	/* maximum number of pages in a set */
#define DEP_ACCESS_SET_AT_ONCE	57u	/* maximum bytes of one lookup, at any alignment */

/* Cache key, from bit 0 on: 52 bits page number, 2 bits origin, 10 bits interval number, not 0. */
#define DEP_ACCESS_SET_ORIGIN	52
#define DEP_ACCESS_SET_ORIGINS	4u
#define DEP_ORIGIN_IGNORED	3u	/* origin of accesses that are never emitted */
#define DEP_ACCESS_SET_INTERVAL	54
/* Interval number in keys of DEP_ORIGIN_IGNORED; an empty cache entry has the next number. */
#define DEP_ACCESS_SET_INTERVALS 1022u

/*
 * struct dep_access_page - the accessed bytes of one page; a word is 64 bits, for 64 bytes
 *
 * The arrays @read and @wrote end with an additional word that stays 0, since lookups can read past
 * the last byte of the page.
 */
struct dep_access_page {
	u64 place;		/* page number and origin, as in a cache key */
	u64 turn;		/* number of the interval in which the bits were set */
	u64 used;		/* bit i: word i of an array may be non-zero */
	u64 later;		/* bit i: word i may have deferred accesses */
	u64 pc;			/* pc of the first deferred access */
	u64 read[DEP_ACCESS_SET_PAGE / 64 + 1], wrote[DEP_ACCESS_SET_PAGE / 64 + 1];
	struct { u64 read, wrote; } emitted[DEP_ACCESS_SET_PAGE / 64];
	struct dep_access_page *next;	/* next page in the same hash bucket */
	struct dep_access_page *next_deferred;	/* next page in dep_access_set.later */
};

/** struct dep_filter_access - one access, as the access set needs it */
struct dep_filter_access {
	u64 pc, addr;
	u32 size;
	u8 who;
	bool write;
};

/**
 * struct dep_access_set_flushed - deferred accesses to the page at @addr
 * @words: bit i: bytes 64 * i to 64 * i + 63 of the page have deferred accesses
 * @nwords: number of bits in @words, and of elements of @word
 * @word: for each bit in @words, the bytes that were written and those that were only read
 */
struct dep_access_set_flushed {
	u64 pc, addr, words;
	u16 nwords;
	u8 who;
	struct dep_page_word *word;	/* the caller's array of DEP_JOINED_WORDS elements */
};

struct dep_access_block;

struct dep_access_set {
	/* The cache: page[i] has the key key[i]. */
	u64 key[DEP_ACCESS_SET_CACHE];
	struct dep_access_page *page[DEP_ACCESS_SET_CACHE];
	u64 turn;		/* number of the current interval */
	u32 stamp;		/* number of the current interval in cache keys, which wraps */
	u32 pages, oldest;	/* number of pages in use; index of the next to check for reuse */
	struct dep_access_page **bucket;
	struct dep_access_block **block;
	struct dep_access_page *later;	/* list of pages with deferred accesses */
};

/** dep_access_set_init() - make an empty set; 0 or -ENOMEM; dep_access_set_free() in both cases */
int dep_access_set_init(struct dep_access_set *s);
void dep_access_set_free(struct dep_access_set *s);

/** dep_access_set_new_interval() - begin an interval; drop accesses that are still deferred */
void dep_access_set_new_interval(struct dep_access_set *s);

/**
 * dep_access_set_add() - add an access of any size
 *
 * Return: true if a byte was not in the set, or if the access could not be added.
 */
bool dep_access_set_add(struct dep_access_set *s, const struct dep_filter_access *a);

/**
 * dep_access_set_defer() - add an access, and defer it: a flush reports the bytes that were new
 *
 * Return: false if it could not be added.
 */
bool dep_access_set_defer(struct dep_access_set *s, const struct dep_filter_access *a);
/**
 * dep_access_set_near() - add accesses to up to 64 bytes at once, if they are all in one page
 * @tag: dep_access_set_tag() of their origin
 * @read: bit i: the byte at @addr + i was read, and not written
 * @wrote: bit i: the byte at @addr + i was written
 * @later: defer the accesses; otherwise they are never reported
 *
 * Return: false if nothing was added.
 */
bool dep_access_set_near(struct dep_access_set *s, u64 tag, u64 pc, u64 addr, u64 read, u64 wrote,
			 bool later);
/**
 * dep_access_set_flush() - get the deferred accesses of one page
 *
 * Call it until it returns false, before the next interval begins.  @out->words can be 0: the
 * deferred bytes of that page were emitted otherwise.
 *
 * Return: false if no page has deferred accesses.
 */
bool dep_access_set_flush(struct dep_access_set *s, struct dep_access_set_flushed *out);

/**
 * dep_access_set_is_deferred() - is any byte of the range deferred?
 *
 * Return: true also for a range that wraps around or has more pages than the set.
 */
bool dep_access_set_is_deferred(const struct dep_access_set *s, u64 addr, u64 size);

/**
 * dep_access_set_forget() - remove a range from the set; no byte of it must be deferred
 *
 * Return: false, with no effect, if the range wraps around or has more pages than the set.  The
 * caller must begin a new interval instead.
 */
bool dep_access_set_forget(struct dep_access_set *s, u64 addr, u64 size);

/** dep_access_set_is_filling() - should deferred accesses be flushed soon to free pages? */
static inline bool dep_access_set_is_filling(const struct dep_access_set *s)
{
	return s->pages > DEP_ACCESS_SET_PAGES / 2;
}

/** dep_access_set_tag() - get the part of a cache key above the page number; never 0 */
static inline u64 dep_access_set_tag(const struct dep_access_set *s, u8 who)
{
	u64 stamp = who == DEP_ORIGIN_IGNORED ? DEP_ACCESS_SET_INTERVALS : s->stamp;

	return stamp << DEP_ACCESS_SET_INTERVAL | (u64)who << DEP_ACCESS_SET_ORIGIN;
}

/**
 * dep_access_set_has() - look up @size bytes at @addr in the cache
 * @tag: dep_access_set_tag(); with 0, the lookup always fails
 * @size: 1 to DEP_ACCESS_SET_AT_ONCE
 *
 * Return: true if all bytes were accessed before; false also if the page is not in the cache.
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
