/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What an image has mapped that others can share, and where things are in a group.
 *
 * The detector of a group has all its images' memory: what each has of its own by the image's
 * number above the address, and what they share in one place, wherever each has it.  A lone
 * image's addresses are its own.
 */
#ifndef ADEPT_ANALYZE_SYNC_MAPPINGS_H
#define ADEPT_ANALYZE_SYNC_MAPPINGS_H

#include "shared_mappings.h"

#define SYNC_SHARED	(1ull << 60)	/* shared memory is there: a region, and the offset in it */
#define SYNC_REGION	40u		/* bits of the latter; what is after is not followed */
#define SYNC_REGIONS	(1u << 20)
#define SYNC_NUMBER	47u		/* bits of an image's addresses.. */
#define SYNC_IMAGES	(1u << 13)	/* ..and numbers; images beyond are left alone */

/** struct sync_region - of a group: a file, or what else is mapped */
struct sync_region {
	struct sync_key key;
	u64 base;		/* its place, SYNC_SHARED included */
	u32 maps;		/* so many have it now */
};

/** struct sync_regions - all of a group, by number; they stay where they are */
struct sync_regions {
	struct sync_region **v;
	u32 n, room;
	struct sync_index index;
};

/** struct sync_map - @offset: of @start in it; @region: NULL in a lone image only */
struct sync_map {
	u64 start, end, offset;
	struct sync_key key;
	struct sync_region *region;
	bool writes;
};

/** struct sync_maps - @v: by address, and no two of them have one in common */
struct sync_maps {
	struct sync_map *v;
	u32 n, room;
	struct sync_map *was;	/* in a group: all that there ever were */
	u32 nwas, was_room;
	struct sync_index was_index;
	u32 anonymous;		/* how many it made */
};

struct sync_image;
struct sync_process;
struct sync_thread;
struct adept_ev_shared;
struct adept_ev_syscall;

/**
 * sync_maps_inherit() - *@to, which is empty, becomes what a forked child has; 0 or -ENOMEM
 *
 * From here on the child has it, though nothing has been seen of it yet.
 */
int sync_maps_inherit(struct sync_maps *to, const struct sync_maps *from);
/** sync_maps_take() - @m begins with *@from, inherited from one of @p; 0 or an error */
int sync_maps_take(struct sync_image *m, struct sync_maps *from, struct sync_process *p);
void sync_regions_free(struct sync_regions *r);
void sync_maps_free(struct sync_maps *s);
/** sync_maps_gone() - @m has ended */
int sync_maps_gone(struct sync_image *m);
/** sync_maps_call() - the memory that @c, which succeeded, maps or unmaps */
int sync_maps_call(struct sync_thread *t, const struct adept_ev_syscall *c);

/**
 * sync_place() - where the detector has @address of a grouped image
 * @left: NULL, or the bytes after it; receives how many of these lie after it there, too
 */
u64 sync_place(const struct sync_image *m, u64 address, u64 *left);
/** sync_address() - the opposite: where @m has what is at @place, or had it; 0: nowhere */
u64 sync_address(const struct sync_image *m, u64 place);

#endif
