/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where in an array something is, by a hash of it: the array is the caller's, grows at its end
 * and does not change its order.
 */
#ifndef ADEPT_ANALYZE_SYNC_HASH_INDEX_H
#define ADEPT_ANALYZE_SYNC_HASH_INDEX_H

#include <stdbool.h>

#include "libdep/abi/types.h"

/** struct sync_index - zeroed, it has nothing */
struct sync_index {
	struct sync_index_slot {
		u32 hash, at;	/* the latter plus 1; 0: nothing */
	} *slot;
	u32 n, room;
};

static inline u64 sync_index_mix(u64 hash, u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

/** sync_index_add() - what is at @at has that hash; 0 or -ENOMEM */
int sync_index_add(struct sync_index *x, u64 hash, u32 at);
/**
 * sync_index_next() - what may be looked for
 * @i: 0 at first; where to go on
 * @at: receives where it is
 *
 * Return: false: there is no more.
 */
bool sync_index_next(const struct sync_index *x, u64 hash, u32 *i, u32 *at);
/** sync_index_free() - it has nothing any more */
void sync_index_free(struct sync_index *x);

/** struct sync_serials - what has a serial; zeroed, nothing */
struct sync_serials {
	struct sync_index index;
	struct sync_serial {
		u32 serial;
		void *what;
	} *v;
	u32 n, room;
};

/** sync_serials_find() - NULL: there is none */
void *sync_serials_find(const struct sync_serials *s, u32 serial);
/** sync_serials_add() - one that is not there yet; 0 or -ENOMEM */
int sync_serials_add(struct sync_serials *s, u32 serial, void *what);
/** sync_serials_free() - nothing has one any more */
void sync_serials_free(struct sync_serials *s);

#endif
