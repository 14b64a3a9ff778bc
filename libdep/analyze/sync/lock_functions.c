// SPDX-License-Identifier: LGPL-2.1-or-later
/* Classify hooked functions that lock, unlock or wait. */
#include "hooked_functions.h"

enum sync_acquire_kind sync_acquires(u32 f)
{
	if (f >= DEP_F_MUTEX_LOCK && f <= DEP_F_MUTEX_CLOCKLOCK)
		return SYNC_TAKES_MUTEX;
	if (f == DEP_F_SPIN_LOCK || f == DEP_F_SPIN_TRYLOCK)
		return SYNC_TAKES_SPIN;
	if (f >= DEP_F_RWLOCK_RDLOCK && f <= DEP_F_RWLOCK_CLOCKRDLOCK)
		return SYNC_TAKES_READ;
	if (f >= DEP_F_RWLOCK_WRLOCK && f <= DEP_F_RWLOCK_CLOCKWRLOCK)
		return SYNC_TAKES_WRITE;
	return SYNC_TAKES_NOTHING;
}

bool sync_leaves(u32 f)
{
	return f == DEP_F_MUTEX_UNLOCK || f == DEP_F_SPIN_UNLOCK || f == DEP_F_RWLOCK_UNLOCK;
}

bool sync_may_block(u32 f)
{
	return f >= DEP_F_COND_WAIT && f <= DEP_F_COND_CLOCKWAIT;
}
