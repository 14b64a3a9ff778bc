/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Word set: a set of 4-byte words of a process's memory.
 *
 * Any number of threads can add words and look them up concurrently.  Lookups take no lock, since
 * words are never removed; a lookup may miss a word that is being added at the same time.
 */
#ifndef ADEPT_RECOVER_FILTER_WORD_SET_H
#define ADEPT_RECOVER_FILTER_WORD_SET_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "libdep/abi/types.h"

/* size, in 64-bit words, of the bitmap that is indexed by a hash of the cache line */
#define DEP_WORD_SET_LINES	1024u
#define DEP_WORD_SET_PAGE		4096u	/* bytes of memory that a page of the set covers */

struct dep_word_set_table;

/** struct dep_word_set - set up by dep_word_set_init(); a zeroed set is empty and read-only */
struct dep_word_set {
	u64 line[DEP_WORD_SET_LINES];
	struct dep_word_set_table *table;
	size_t words;
	bool lost;		/* some words could not be added, for lack of memory */
	pthread_mutex_t lock;	/* taken by dep_word_set_add() */
};

void dep_word_set_init(struct dep_word_set *p);
void dep_word_set_free(struct dep_word_set *p);

/** dep_word_set_add() - add all words that overlap the range; 0 or -ENOMEM */
int dep_word_set_add(struct dep_word_set *p, u64 address, u64 size);
/** dep_word_set_has() - is any word that overlaps the range in the set? */
bool dep_word_set_has(const struct dep_word_set *p, u64 address, u64 size);
/**
 * dep_word_set_each() - call @f for each group of adjacent words within a page
 *
 * Return: 0, or the first non-zero result of @f, which ends the iteration.
 */
int dep_word_set_each(const struct dep_word_set *p, int (*f)(void *arg, u64 address, u64 size),
		      void *arg);

/* Return: false if no word in the cache line of @address is in the set; true: perhaps there is. */
static inline bool dep_word_set_maybe(const struct dep_word_set *p, u64 address)
{
	u32 h = (u32)((address >> 6) * 0x9e3779b97f4a7c15ull >> 48);

	return __atomic_load_n(&p->line[h >> 6], __ATOMIC_RELAXED) >> (h & 63) & 1;
}

#endif
