/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The writer's state, shared by writer.c, descriptors.c, pack.c, mark.c, close.c and resume.c. */
#ifndef ADEPT_FORMAT_WRITE_WRITER_H
#define ADEPT_FORMAT_WRITE_WRITER_H

#include <stdbool.h>

#include "dep/store.h"
#include "libdep/format/codec/chain.h"
#include "libdep/format/file/append_file.h"
#include "libdep/format/codec/exit_index.h"
#include "libdep/format/file/log.h"

struct dep_compressor;

/* Disk space of the log for its last frames, beside the tables of END. */
#define DEP_LOG_RESERVE	(64u << 10)

#define DEP_SEG_FLUSH	(8ull << 20)	/* hand segments to the disk in such pieces */

struct dep_writer {
	char *dir;
	int dirfd;
	struct dep_meta meta;		/* a copy */
	struct dep_access access;
	struct dep_format fmt;
	void *manifest;			/* cJSON tree */
	struct dep_log log;
	struct dep_file seg;
	u32 seg_number, first_file;
	u64 roll, flush;		/* DEP_SEG_ROLL, DEP_SEG_FLUSH; less for tests */
	u64 closed_bytes;		/* of segments.NNN before the present one */
	u64 *file_size;			/* by number, of those before the present one */
	struct dep_table chains;	/* struct dep_chain of each thread with segments */
	u32 nprocesses, nthreads;	/* logged */
	struct dep_index index;
	u32 nfrags;
	int level;			/* zstd's */
	u64 discarded_bytes;
	int error;			/* the first errno of what could not be stored.. */
	int unsure;			/* ..and of a sync: nothing more can be promised */
	/* durable points: mark.c */
	bool unnamed;			/* the disk may not have the names of the first files */
	int *rolled;			/* files before the present one, not on the disk yet */
	u32 nrolled;
	u64 unmarked;			/* bytes of segments since the last MARK */
	u64 flushed;			/* up to there the present file is on its way to the disk */
	struct dep_compressor *press;	/* of dep_writer_segment() */
	u8 *desc;			/* buffer of descriptors.c */
	size_t desc_room;
};

/** dep_writer_new() - one without any files yet; NULL without memory */
struct dep_writer *dep_writer_new(const char *dir, const struct dep_meta *meta, int level);
/** dep_writer_free() - leave the store as it is; NULL is harmless */
void dep_writer_free(struct dep_writer *w);
/** dep_writer_segment_file() - make segments.NNN and go on there */
int dep_writer_segment_file(struct dep_writer *w, u32 number);
/** dep_writer_leave_file() - nothing more goes to the present file; the next MARK waits for it */
int dep_writer_leave_file(struct dep_writer *w);
/** dep_writer_roll() - begin a new file if the present one would grow too large by @more bytes */
int dep_writer_roll(struct dep_writer *w, u64 more);
/** dep_writer_frame() - dep_log_append(), and an error is kept in @w->error */
int dep_writer_frame(struct dep_writer *w, u32 type, u32 process, const void *a, size_t a_size,
		     const void *b, size_t b_size);
/** dep_writer_reserve() - keep disk space for the last frames, whose tables have grown */
void dep_writer_reserve(struct dep_writer *w);
/** dep_writer_flush() - let the kernel begin to write segments to the disk; never waits for it */
void dep_writer_flush(struct dep_writer *w);
/** dep_writer_sync() - wait until the disk has the log and all segments; fails for ever after */
int dep_writer_sync(struct dep_writer *w);
/** dep_writer_unsure() - keep the result @err of a sync; @err, or the first failure if that is 0 */
int dep_writer_unsure(struct dep_writer *w, int err);
/** dep_writer_build_id() - log what a mapping's file is, if that can be seen */
int dep_writer_build_id(struct dep_writer *w, u32 process, const struct adept_desc_map *map);

#endif
