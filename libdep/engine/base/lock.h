/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Futex mutex.  Not recursive: code that a signal handler may interrupt must not share a lock with
 * that handler.
 */
#ifndef ADEPT_ENGINE_BASE_LOCK_H
#define ADEPT_ENGINE_BASE_LOCK_H

#include "libdep/abi/types.h"

struct lock {
	u32 word;	/* 0: free; 1: held; 2: held, and threads may wait for the lock */
};

void lock_slow(struct lock *l);
void unlock_slow(struct lock *l);

static inline void lock(struct lock *l)
{
	u32 zero = 0;

	if (!__atomic_compare_exchange_n(&l->word, &zero, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		lock_slow(l);
}

static inline void unlock(struct lock *l)
{
	if (__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2)
		unlock_slow(l);
}

#endif
