/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A set of words of a process's memory, each 4 bytes.
 *
 * Any number of threads add to it and look at once.  Nothing is ever taken out, so who looks
 * takes no lock: what it does not see was not there yet.
 */
#ifndef ADEPT_RECOVER_FILTER_WORD_SET_H
#define ADEPT_RECOVER_FILTER_WORD_SET_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "libdep/abi/types.h"

#define DEP_WORD_SET_LINES	1024u	/* of 64 bits, one for each hash of a cache line */
#define DEP_WORD_SET_PAGE		4096u	/* bytes */

struct dep_word_set_table;

/** struct dep_word_set - zeroed but for dep_word_set_init(), there are none */
struct dep_word_set {
	u64 line[DEP_WORD_SET_LINES];
	struct dep_word_set_table *table;
	size_t words;
	bool lost;		/* some could not be added, for want of memory */
	pthread_mutex_t lock;	/* of who adds */
};

void dep_word_set_init(struct dep_word_set *p);
void dep_word_set_free(struct dep_word_set *p);

/** dep_word_set_add() - all words that have a byte of it; 0 or -ENOMEM */
int dep_word_set_add(struct dep_word_set *p, u64 address, u64 size);
/** dep_word_set_has() - any word that has a byte of it */
bool dep_word_set_has(const struct dep_word_set *p, u64 address, u64 size);
/** dep_word_set_each() - call @f for each run of words within a page, until it does not return 0 */
int dep_word_set_each(const struct dep_word_set *p, int (*f)(void *arg, u64 address, u64 size),
		      void *arg);

/* 0 if no byte of the cache line of @address belongs to it. */
static inline bool dep_word_set_maybe(const struct dep_word_set *p, u64 address)
{
	u32 h = (u32)((address >> 6) * 0x9e3779b97f4a7c15ull >> 48);

	return __atomic_load_n(&p->line[h >> 6], __ATOMIC_RELAXED) >> (h & 63) & 1;
}

#endif
