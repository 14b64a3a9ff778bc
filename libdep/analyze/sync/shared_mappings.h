/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Find the process images that share memory.
 *
 * The first pass collects all mappings that other images can share. If two mappings have the same
 * key and one is writable, their images share memory. If any images share memory, all images of the
 * session form one group with one detector, since any image can pass on order between the others.
 */
#ifndef ADEPT_ANALYZE_SYNC_SHARED_MAPPINGS_H
#define ADEPT_ANALYZE_SYNC_SHARED_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "libdep/abi/types.h"
#include "hash_index.h"

/**
 * struct sync_key - identity of mapped memory, the same in all images
 * @dev: device of a file; ADEPT_SHARED_SYSV for a System V segment; SYNC_ANONYMOUS
 * @inode: inode of the file; id of the segment; image that made the anonymous mapping
 * @nth: number of the anonymous mapping in that image; otherwise 0
 */
struct sync_key {
	u64 dev, inode, nth;
};

#define SYNC_ANONYMOUS	(~1ull)

/** struct sync_shared_map - @image has mapped the memory @key at address @at */
struct sync_shared_map {
	struct sync_key key;
	u32 image;
	bool writes;
	u64 at;
};

/** struct sync_shared_maps - mappings of all images; kept from pass to pass; empty if zeroed */
struct sync_shared_maps {
	struct sync_shared_map *v;
	size_t n, room;
	struct sync_index index;	/* index of @v; freed by sync_shared_maps_resolve() */
	u32 *image;		/* serials of the images that share memory, sorted */
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

/** sync_shared_maps_add() - add a mapping, before sync_shared_maps_resolve(); 0 or -ENOMEM */
int sync_shared_maps_add(struct sync_shared_maps *s, const struct sync_shared_map *share);
/** sync_shared_maps_resolve() - find the images that share memory; 0 or -ENOMEM */
int sync_shared_maps_resolve(struct sync_shared_maps *s);
/** sync_shared_maps_has() - does the image with serial @image share memory? */
bool sync_shared_maps_has(const struct sync_shared_maps *s, u32 image);
void sync_shared_maps_free(struct sync_shared_maps *s);

#endif
