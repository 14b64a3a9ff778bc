/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shared mappings of an image, and the detector's address space of a group.
 *
 * The detector of a group has the memory of all its images. Private memory has the image's number
 * above the address. Shared memory has one address, wherever the images map it. The addresses of an
 * image that is in no group are unchanged.
 */
#ifndef ADEPT_ANALYZE_SYNC_MAPPINGS_H
#define ADEPT_ANALYZE_SYNC_MAPPINGS_H

#include "shared_mappings.h"

/* flag of shared memory; below it a region number and the offset */
#define SYNC_SHARED	(1ull << 60)
#define SYNC_REGION	40u		/* bits of the offset; memory beyond is not followed */
#define SYNC_REGIONS	(1u << 20)
#define SYNC_NUMBER	47u		/* bits of an image's addresses */
#define SYNC_IMAGES	(1u << 13)	/* images of a group; further ones are not analysed */

/** struct sync_region - shared memory of a group: a file, a segment or an anonymous mapping */
struct sync_region {
	struct sync_key key;
	u64 base;		/* detector address, SYNC_SHARED included */
	u32 maps;		/* mappings that exist now */
};

/** struct sync_regions - all regions of a group, by number; never moved */
struct sync_regions {
	struct sync_region **v;
	u32 n, room;
	struct sync_index index;
};

/** struct sync_map - @offset: of @start in the region; @region: NULL only in no group */
struct sync_map {
	u64 start, end, offset;
	struct sync_key key;
	struct sync_region *region;
	bool writes;
};

/** struct sync_maps - @v: sorted by address, without overlaps */
struct sync_maps {
	struct sync_map *v;
	u32 n, room;
	struct sync_map *was;	/* in a group: all mappings that have existed */
	u32 nwas, was_room;
	struct sync_index was_index;
	u32 anonymous;		/* anonymous mappings made so far */
};

struct sync_image;
struct sync_process;
struct sync_thread;
struct adept_ev_shared;
struct adept_ev_syscall;

/**
 * sync_maps_inherit() - copy the mappings of @from for a forked child, *@to; 0 or -ENOMEM
 *
 * They count as mapped from here on, before the child's first item.
 */
int sync_maps_inherit(struct sync_maps *to, const struct sync_maps *from);
/** sync_maps_take() - move *@from, inherited from an image of @p, to @m; 0 or an error */
int sync_maps_take(struct sync_image *m, struct sync_maps *from, struct sync_process *p);
void sync_regions_free(struct sync_regions *r);
void sync_maps_free(struct sync_maps *s);
/** sync_maps_gone() - @m has ended: remove its mappings */
int sync_maps_gone(struct sync_image *m);
/** sync_maps_call() - apply the mapping changes of the successful call @c */
int sync_maps_call(struct sync_thread *t, const struct adept_ev_syscall *c);

/**
 * sync_place() - detector address of @address in an image that is in a group
 * @left: NULL, or the bytes from there on; reduced to the bytes that are contiguous in the
 *	detector, too
 */
u64 sync_place(const struct sync_image *m, u64 address, u64 *left);
/** sync_address() - inverse: current or former address in @m of @place; 0: none */
u64 sync_address(const struct sync_image *m, u64 place);

#endif
