/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which process images share memory.
 *
 * What an image maps so that others can map it, too, is noted in the first pass; then it is
 * known whether two of them have something in common that one of them can write.  If so, all
 * images of the session are analyzed as one process, a group: whatever else they do may order
 * what is done to that memory.
 */
#ifndef ADEPT_ANALYZE_SYNC_SHARED_MAPPINGS_H
#define ADEPT_ANALYZE_SYNC_SHARED_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "libdep/abi/types.h"
#include "hash_index.h"

/**
 * struct sync_key - what is mapped, the same for all
 * @dev, @inode: of a file; ADEPT_SHARED_SYSV and a segment's number; SYNC_ANONYMOUS and the
 *	image that mapped it first
 * @nth: which one of that image, of anonymous memory
 */
struct sync_key {
	u64 dev, inode, nth;
};

#define SYNC_ANONYMOUS	(~1ull)

/** struct sync_shared_map - @image has mapped @key at @at */
struct sync_shared_map {
	struct sync_key key;
	u32 image;
	bool writes;
	u64 at;
};

/** struct sync_shared_maps - kept from one pass to the next; zeroed, nobody shares anything */
struct sync_shared_maps {
	struct sync_shared_map *v;
	size_t n, room;
	struct sync_index index;	/* until it is settled */
	u32 *image;		/* those that share something, sorted */
	size_t nimages;
};

static inline u64 sync_key_hash(const struct sync_key *k)
{
	return sync_index_mix(sync_index_mix(sync_index_mix(0, k->dev), k->inode), k->nth);
}

static inline bool sync_key_same(const struct sync_key *a, const struct sync_key *b)
{
	return a->dev == b->dev && a->inode == b->inode && a->nth == b->nth;
}

/** sync_shared_maps_add() - before it is settled; 0 or -ENOMEM */
int sync_shared_maps_add(struct sync_shared_maps *s, const struct sync_shared_map *share);
/** sync_shared_maps_resolve() - find out who shares what was noted; 0 or -ENOMEM */
int sync_shared_maps_resolve(struct sync_shared_maps *s);
/** sync_shared_maps_has() - does @image share anything? */
bool sync_shared_maps_has(const struct sync_shared_maps *s, u32 image);
void sync_shared_maps_free(struct sync_shared_maps *s);

#endif
