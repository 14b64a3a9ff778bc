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
 * struct order_key - what is mapped, the same for all
 * @dev, @inode: of a file; ADEPT_SHARED_SYSV and a segment's number; ORDER_ANONYMOUS and the
 *	image that mapped it first
 * @nth: which one of that image, of anonymous memory
 */
struct order_key {
	u64 dev, inode, nth;
};

#define ORDER_ANONYMOUS	(~1ull)

/** struct order_share - @image has mapped @key at @at */
struct order_share {
	struct order_key key;
	u32 image;
	bool writes;
	u64 at;
};

/** struct order_shares - kept from one pass to the next; zeroed, nobody shares anything */
struct order_shares {
	struct order_share *v;
	size_t n, room;
	struct order_index index;	/* until it is settled */
	u32 *image;		/* those that share something, sorted */
	size_t nimages;
};

static inline u64 order_key_hash(const struct order_key *k)
{
	return order_index_mix(order_index_mix(order_index_mix(0, k->dev), k->inode), k->nth);
}

static inline bool order_key_same(const struct order_key *a, const struct order_key *b)
{
	return a->dev == b->dev && a->inode == b->inode && a->nth == b->nth;
}

/** order_shares_note() - before it is settled; 0 or -ENOMEM */
int order_shares_note(struct order_shares *s, const struct order_share *share);
/** order_shares_settle() - find out who shares what was noted; 0 or -ENOMEM */
int order_shares_settle(struct order_shares *s);
/** order_shares_has() - does @image share anything? */
bool order_shares_has(const struct order_shares *s, u32 image);
void order_shares_free(struct order_shares *s);

#endif
