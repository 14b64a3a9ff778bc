/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Index of an array by a hash of its elements. The array belongs to the caller, who may only append
 * to it.
 */
#ifndef ADEPT_ANALYZE_SYNC_HASH_INDEX_H
#define ADEPT_ANALYZE_SYNC_HASH_INDEX_H

#include <stdbool.h>

#include "libdep/abi/types.h"

/** struct sync_index - index of an array; empty if zeroed */
struct sync_index {
	struct sync_index_slot {
		u32 hash, at;	/* @at: array index + 1; 0: free slot */
	} *slot;
	u32 n, room;
};

static inline u64 sync_index_mix(u64 hash, u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

/** sync_index_add() - add the array element @at, whose hash is @hash; 0 or -ENOMEM */
int sync_index_add(struct sync_index *x, u64 hash, u32 at);
/**
 * sync_index_next() - find the next array element with @hash, which the caller compares
 * @i: state of the search, 0 at first
 * @at: receives the array index
 *
 * Return: false if there is no further element.
 */
bool sync_index_next(const struct sync_index *x, u64 hash, u32 *i, u32 *at);
/** sync_index_free() - free the index and make it empty */
void sync_index_free(struct sync_index *x);

/** struct sync_serials - map from serials to pointers; empty if zeroed */
struct sync_serials {
	struct sync_index index;
	struct sync_serial {
		u32 serial;
		void *what;
	} *v;
	u32 n, room;
};

/** sync_serials_find() - find the pointer that was added with @serial; NULL: none */
void *sync_serials_find(const struct sync_serials *s, u32 serial);
/** sync_serials_add() - add a serial that is not in the map; 0 or -ENOMEM */
int sync_serials_add(struct sync_serials *s, u32 serial, void *what);
/** sync_serials_free() - free the map and make it empty */
void sync_serials_free(struct sync_serials *s);

#endif
