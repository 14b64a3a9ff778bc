/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shared mappings of an image, and the detector's address space of a group.
 *
 * A group of images (processes) that share memory has one detector, for the memory of all its
 * images. The detector address of private memory has the image's number above the address. Shared
 * memory has one detector address, wherever the images map it. For an image in no group, detector
 * addresses are its own addresses.
 */
#ifndef ADEPT_ANALYZE_SYNC_MAPPINGS_H
#define ADEPT_ANALYZE_SYNC_MAPPINGS_H

#include "shared_mappings.h"

/* flag of the detector address of shared memory; below are region number and offset */
#define SYNC_SHARED	(1ull << 60)
/* bits of an offset in a region; memory at larger offsets counts as private */
#define SYNC_REGION	40u
#define SYNC_REGIONS	(1u << 20)
#define SYNC_NUMBER	47u		/* bits of an address in an image */
/* maximum number of images in a group; further images are not analyzed */
#define SYNC_IMAGES	(1u << 13)

/**
 * struct sync_region - shared memory of a group: a file, a System V segment or an anonymous mapping
 */
struct sync_region {
	struct sync_key key;
	u64 base;		/* detector address of offset 0, with SYNC_SHARED */
	u32 maps;		/* number of mappings that exist now */
};

/** struct sync_regions - all regions of a group, by number; a region never moves */
struct sync_regions {
	struct sync_region **v;
	u32 n, room;
	struct sync_index index;
};

/**
 * struct sync_map - a shared mapping
 * @offset: offset of @start in the region
 * @region: NULL if the image is in no group
 */
struct sync_map {
	u64 start, end, offset;
	struct sync_key key;
	struct sync_region *region;
	bool writes;
};

/** struct sync_maps - shared mappings of an image; @v: sorted by address, without overlaps */
struct sync_maps {
	struct sync_map *v;
	u32 n, room;
	struct sync_map *was;	/* in a group: all mappings that have existed */
	u32 nwas, was_room;
	struct sync_index was_index;
	u32 anonymous;		/* number of anonymous mappings made so far */
};

struct sync_image;
struct sync_process;
struct sync_thread;
struct adept_ev_shared;
struct adept_ev_syscall;

/**
 * sync_maps_inherit() - copy the mappings @from into *@to, for a forked child; 0 or -ENOMEM
 *
 * The copies count as mappings of their regions from here on, before the child's first item.
 */
int sync_maps_inherit(struct sync_maps *to, const struct sync_maps *from);
/** sync_maps_take() - move *@from, which was inherited from an image of @p, to @m; 0 or an error */
int sync_maps_take(struct sync_image *m, struct sync_maps *from, struct sync_process *p);
void sync_regions_free(struct sync_regions *r);
void sync_maps_free(struct sync_maps *s);
/** sync_maps_gone() - remove all mappings of @m, which has ended */
int sync_maps_gone(struct sync_image *m);
/** sync_maps_call() - apply the changes of mappings by the successful system call @c */
int sync_maps_call(struct sync_thread *t, const struct adept_ev_syscall *c);

/**
 * sync_place() - translate @address in an image of a group to the detector's address space
 * @left: NULL, or the number of bytes from @address on; reduced to those that are contiguous in the
 *	detector's address space, too
 */
u64 sync_place(const struct sync_image *m, u64 address, u64 *left);
/**
 * sync_address() - inverse of sync_place(): get the address at which @m maps or has mapped the
 * detector address @place; 0: none
 */
u64 sync_address(const struct sync_image *m, u64 place);

#endif
