/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The writer's state, shared by writer.c, append.c, pack.c and resume.c. */
#ifndef DEP_FORMAT_WRITER_H
#define DEP_FORMAT_WRITER_H

#include <stdbool.h>

#include "../../include/dep/store.h"
#include "file.h"
#include "index.h"
#include "log.h"

struct dep_press;

struct dep_writer {
	char *dir;
	int dirfd;
	struct dep_meta meta;		/* a copy */
	struct dep_file log, seg;
	u32 seg_number;
	u64 roll;			/* DEP_SEG_ROLL, less for tests */
	u64 closed_bytes;		/* of segments.NNN before the present one */
	struct dep_index index;
	u32 nfrags;
	int level;			/* zstd's */
	bool temporary;
	u64 discarded_bytes;
	struct dep_press *press;	/* of dep_writer_segment() */
	u8 *desc;			/* buffer of append.c */
	size_t desc_room;
};

/** dep_writer_new() - one without any files yet; NULL without memory */
struct dep_writer *dep_writer_new(const char *dir, const struct dep_meta *meta, int level);
/** dep_writer_free() - leave the store as it is; NULL is harmless */
void dep_writer_free(struct dep_writer *w);
/** dep_writer_segment_file() - make segments.NNN and go on there */
int dep_writer_segment_file(struct dep_writer *w, u32 number);
int dep_writer_roll(struct dep_writer *w, u64 more);
/** dep_writer_build_id() - log what a mapping's file is, if that can be seen */
int dep_writer_build_id(struct dep_writer *w, u32 process, const struct adept_desc_map *map);

#endif
