/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A hash table from keys to indexes of rows. */
#ifndef ADEPT_PATH_PROFILE_ROW_MAP_H
#define ADEPT_PATH_PROFILE_ROW_MAP_H

#include <stddef.h>

#include "libdep/abi/types.h"

/** struct dep_row_key - a key; what its parts mean is the user's matter */
struct dep_row_key {
	u64 a;
	u32 b, c;
};

/** struct dep_row_slot - @index: 1 + index; 0: the slot is free */
struct dep_row_slot {
	struct dep_row_key key;
	u32 index, pad;
};

/** struct dep_row_map - begin with zeros */
struct dep_row_map {
	struct dep_row_slot *slot;
	size_t n, room;		/* keys; slots, a power of two */
	u64 seed;		/* keys come from stores, which anyone can have written */
};

/** dep_row_find() - the index of @key, or -1 */
s64 dep_row_find(const struct dep_row_map *m, const struct dep_row_key *key);
/** dep_row_set() - add a key that is not in the map; 0 or -ENOMEM */
int dep_row_set(struct dep_row_map *m, const struct dep_row_key *key, u32 index);
void dep_row_free(struct dep_row_map *m);

#endif
