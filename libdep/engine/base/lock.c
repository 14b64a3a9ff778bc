// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lock.h"
#include "sys.h"

void lock_slow(struct lock *l)
{
	for (int spin = 0; spin < 200; spin++) {
		u32 zero = 0;

		if (__atomic_compare_exchange_n(&l->word, &zero, 1, 0, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return;
		__asm__ volatile("pause");
	}
	while (__atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE) != 0)
		futex_wait(&l->word, 2, NULL);
}

void unlock_slow(struct lock *l)
{
	futex_wake(&l->word, 1);
}
