/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a thread has accessed since it may last have synchronised: for each page two bits for
 * each of its bytes, read and written (what was written counts as read, too).
 *
 * Pages are found by a table of ways, by the lower bits of their numbers, which machine code looks
 * into as well (jit.c); after it is one of all pages.  A turn makes all that is known old
 * at once: its number is in the keys of the ways, and in the pages.  Of DEP_ORIGIN_IGNORED, whose
 * accesses are never told, nothing grows old.
 */
#ifndef ADEPT_RECOVER_FILTER_ACCESS_SET_H
#define ADEPT_RECOVER_FILTER_ACCESS_SET_H

#include <stdbool.h>

#include "dep/recover.h"
#include "libdep/abi/types.h"

#define DEP_ACCESS_SET_PAGE	DEP_ACCESS_PAGE_SIZE
#define DEP_ACCESS_SET_CACHE	1024u
#define DEP_ACCESS_SET_PAGES	8192u		/* at most */
#define DEP_ACCESS_SET_AT_ONCE	57u	/* bytes that one look tells of, wherever they begin */

/*
 * A key: the number of the page, 52 bits; who accessed it, 2; and a number of the turn that is
 * not 0, 10.
 */
#define DEP_ACCESS_SET_ORIGIN	52
#define DEP_ACCESS_SET_ORIGINS	4u
#define DEP_ORIGIN_IGNORED	3u	/* who */
#define DEP_ACCESS_SET_INTERVAL	54
#define DEP_ACCESS_SET_INTERVALS \
	1022u /* this one is of DEP_ORIGIN_IGNORED; a way that has none: the next */

/* The words after the last byte's stay 0: nothing is known after the end. */
struct dep_access_page {
	u64 place;		/* number and who, as in a key */
	u64 turn;		/* that its bits are of */
	u64 used;		/* a bit for each word that is not 0 */
	u64 later;		/* and for those that dep_access_set_flush() is to tell */
	u64 pc;			/* of the first access that was put off */
	u64 read[DEP_ACCESS_SET_PAGE / 64 + 1], wrote[DEP_ACCESS_SET_PAGE / 64 + 1];
	struct { u64 read, wrote; } told[DEP_ACCESS_SET_PAGE / 64];
	struct dep_access_page *next;	/* of the same bucket */
	struct dep_access_page *next_deferred;
};

/** struct dep_access_set_access - @pc: of any access by the same */
struct dep_access_set_access {
	u64 pc, addr;
	u32 size;
	u8 who;
	bool write;
};

/**
 * struct dep_access_set_flushed - accesses to the page at @addr
 * @words: a bit for each 64 bytes that have any, @nwords of them; of these word[] has bits, for
 *	each byte that was written, or only read
 */
struct dep_access_set_flushed {
	u64 pc, addr, words;
	u16 nwords;
	u8 who;
	struct dep_page_word *word;	/* the caller's, DEP_JOINED_WORDS of them */
};

struct dep_access_block;

struct dep_access_set {
	/* The ways: a key, and the page that it leads to. */
	u64 key[DEP_ACCESS_SET_CACHE];
	struct dep_access_page *page[DEP_ACCESS_SET_CACHE];
	u64 turn;
	u32 stamp;
	u32 pages, oldest;	/* @oldest: the next one to be used for another place */
	struct dep_access_page **bucket;
	struct dep_access_block **block;
	struct dep_access_page *later;	/* those with accesses to be told */
};

/** dep_access_set_init() - 0 or -ENOMEM; dep_access_set_free() in any case */
int dep_access_set_init(struct dep_access_set *s);
void dep_access_set_free(struct dep_access_set *s);

/** dep_access_set_new_interval() - from here on nothing has been accessed */
void dep_access_set_new_interval(struct dep_access_set *s);

/**
 * dep_access_set_add() - remember an access, of any size
 *
 * Return: was it new, in any byte?  That, too, if it cannot be remembered.
 */
bool dep_access_set_add(struct dep_access_set *s, const struct dep_access_set_access *a);

/**
 * dep_access_set_defer() - the same; what is new is told later; false if it cannot be remembered
 */
bool dep_access_set_defer(struct dep_access_set *s, const struct dep_access_set_access *a);
/**
 * dep_access_set_near() - remember several accesses at once, if they are in one page
 * @tag: dep_access_set_tag() of who made them
 * @read: a bit for each byte from @addr on, of those that were only read
 * @wrote: and of those that were written
 * @later: what is new is told later, or else never
 *
 * Return: false if nothing was done.
 */
bool dep_access_set_near(struct dep_access_set *s, u64 tag, u64 pc, u64 addr, u64 read, u64 wrote,
			 bool later);
/**
 * dep_access_set_flush() - what was put off in one page; false if there is none
 *
 * To be called until then, in front of the next turn; what was not told by then is lost.  There
 * may be no words in what it tells.
 */
bool dep_access_set_flush(struct dep_access_set *s, struct dep_access_set_flushed *out);

/**
 * dep_access_set_is_deferred() - is anything of it still to be told?
 *
 * Return: true also where it is more than dep_access_set_forget() takes.
 */
bool dep_access_set_is_deferred(const struct dep_access_set *s, u64 addr, u64 size);

/**
 * dep_access_set_forget() - it has not been accessed; nothing of it may be put off
 *
 * Return: false if that is more than is remembered: a turn is better.
 */
bool dep_access_set_forget(struct dep_access_set *s, u64 addr, u64 size);

/**
 * dep_access_set_is_filling() - is what was put off better told soon, so that there is room again?
 */
static inline bool dep_access_set_is_filling(const struct dep_access_set *s)
{
	return s->pages > DEP_ACCESS_SET_PAGES / 2;
}

/** dep_access_set_tag() - what distinguishes the pages of @who in this turn, not 0 */
static inline u64 dep_access_set_tag(const struct dep_access_set *s, u8 who)
{
	u64 stamp = who == DEP_ORIGIN_IGNORED ? DEP_ACCESS_SET_INTERVALS : s->stamp;

	return stamp << DEP_ACCESS_SET_INTERVAL | (u64)who << DEP_ACCESS_SET_ORIGIN;
}

/**
 * dep_access_set_has() - is it known that @size bytes at @addr were accessed?
 * @tag: dep_access_set_tag(), or 0: nothing is
 * @size: 1 to DEP_ACCESS_SET_AT_ONCE
 *
 * Return: false also where it takes longer to find out.
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
