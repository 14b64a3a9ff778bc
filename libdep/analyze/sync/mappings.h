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

#define ORDER_SHARED	(1ull << 60)	/* shared memory is there: a region, and the offset in it */
#define ORDER_REGION	40u		/* bits of the latter; what is behind is not followed */
#define ORDER_REGIONS	(1u << 20)
#define ORDER_NUMBER	47u		/* bits of an image's addresses.. */
#define ORDER_IMAGES	(1u << 13)	/* ..and numbers; images beyond are left alone */

/** struct order_region - of a group: a file, or what else is mapped */
struct order_region {
	struct order_key key;
	u64 base;		/* its place, ORDER_SHARED included */
	u32 maps;		/* so many have it now */
};

/** struct order_regions - all of a group, by number; they stay where they are */
struct order_regions {
	struct order_region **v;
	u32 n, room;
	struct order_index index;
};

/** struct order_map - @offset: of @start in it; @region: NULL in a lone image only */
struct order_map {
	u64 start, end, offset;
	struct order_key key;
	struct order_region *region;
	bool writes;
};

/** struct order_maps - @v: by address, and no two of them have one in common */
struct order_maps {
	struct order_map *v;
	u32 n, room;
	struct order_map *was;	/* in a group: all that there ever were */
	u32 nwas, was_room;
	struct order_index was_index;
	u32 anonymous;		/* how many it made */
};

struct order_image;
struct order_process;
struct order_thread;
struct adept_ev_shared;
struct adept_ev_syscall;

/**
 * order_maps_inherit() - *@to, which is empty, becomes what a forked child has; 0 or -ENOMEM
 *
 * From here on the child has it, though nothing has been seen of it yet.
 */
int order_maps_inherit(struct order_maps *to, const struct order_maps *from);
/** order_maps_take() - @m begins with *@from, inherited from one of @p; 0 or an error */
int order_maps_take(struct order_image *m, struct order_maps *from, struct order_process *p);
void order_regions_free(struct order_regions *r);
void order_maps_free(struct order_maps *s);
/** order_maps_gone() - @m has ended */
int order_maps_gone(struct order_image *m);
/** order_maps_call() - the memory that @c, which succeeded, maps or unmaps */
int order_maps_call(struct order_thread *t, const struct adept_ev_syscall *c);

/**
 * order_place() - where the detector has @address of a grouped image
 * @left: NULL, or the bytes behind it; receives how many of these lie behind it there, too
 */
u64 order_place(const struct order_image *m, u64 address, u64 *left);
/** order_address() - the opposite: where @m has what is at @place, or had it; 0: nowhere */
u64 order_address(const struct order_image *m, u64 place);

#endif
