/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What threads synchronise by, and the clock of each: words of memory, and objects of the
 * kernel.
 */
#ifndef DEP_RACES_OBJECTS_H
#define DEP_RACES_OBJECTS_H

#include "../races/detect.h"

enum race_kind {
	RACE_O_WORD,		/* aligned 4 bytes, by address / 4 */
	RACE_O_SPUN,		/* a word that a thread waited for in a loop */
	RACE_O_FUTEX,		/* the kernel's queue, by address */
	RACE_O_FILE,		/* open file, by its number in struct race_files */
	RACE_O_SIGNAL,		/* by number; 0: whatever any signal may tell */
};

struct race_object {
	struct race_object *next;
	u64 id;
	struct race_sync sync;
	u8 kind;		/* enum race_kind */
};

/**
 * struct race_objects - all of a process
 *
 * Zeroed, there are none; race_objects_free() before the detector that they are used with.
 * A bit of @lines says that a word in a cache line of that hash may be one.
 */
struct race_objects {
	struct race_object **bucket;
	u32 nbuckets, n;
	u64 lines[1024];
};

static inline u32 race_line_hash(u64 address)
{
	return (u32)((address >> 6) * 0x9e3779b97f4a7c15ull >> 48);
}

/* Quick: 0 if no byte of the cache line of @address belongs to a word that is an object. */
static inline int race_line_marked(const struct race_objects *o, u64 address)
{
	u32 h = race_line_hash(address);

	return o->lines[h >> 6] >> (h & 63) & 1;
}

/** race_object_find() - NULL if there is none */
struct race_object *race_object_find(const struct race_objects *o, enum race_kind kind, u64 id);
/** race_object_get() - made if there is none; NULL: no memory */
struct race_object *race_object_get(struct race_objects *o, enum race_kind kind, u64 id);
void race_objects_free(struct race_objects *o, struct race_detector *d);

#endif
