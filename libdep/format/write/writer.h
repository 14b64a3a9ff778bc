/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The writer's state, shared by writer.c, descriptors.c, pack.c, mark.c, close.c and resume.c. */
#ifndef ADEPT_FORMAT_WRITE_WRITER_H
#define ADEPT_FORMAT_WRITE_WRITER_H

#include <stdbool.h>

#include "store_writer.h"
#include "libdep/format/codec/chain.h"
#include "libdep/format/file/append_file.h"
#include "libdep/format/codec/exit_index.h"
#include "libdep/format/file/log.h"

struct dep_compressor;

/* Disk space reserved in the log for its last frames, besides the tables of END. */
#define DEP_LOG_RESERVE	(64u << 10)

#define DEP_SEG_FLUSH	(8ull << 20)	/* bytes after which segments are written to the disk */

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
	u64 closed_bytes;		/* of segment files before the current one */
	u64 *file_size;			/* by number, of files before the current one */
	struct dep_table chains;	/* struct dep_chain of each thread with segments */
	u32 nprocesses, nthreads;	/* number of logged ones */
	struct dep_index index;
	u32 nfrags;
	int level;			/* of zstd */
	u64 discarded_bytes;
	int error;			/* first errno of a failed write.. */
	int unsure;			/* ..and of a failed sync: no further MARK */
	/* durable points: mark.c */
	bool unnamed;			/* the names of the first files may not be on the disk */
	int *rolled;			/* files before the current one that are not synced yet */
	u32 nrolled;
	u64 unmarked;			/* bytes of segments since the last MARK */
	u64 flushed;			/* up to here the disk is being written */
	struct dep_compressor *press;	/* of dep_writer_segment() */
	u8 *desc;			/* buffer in descriptors.c */
	size_t desc_room;
};

/** dep_writer_new() - a writer without files; NULL without memory */
struct dep_writer *dep_writer_new(const char *dir, const struct dep_meta *meta, int level);
/** dep_writer_free() - free @w, not changing the store; @w may be NULL */
void dep_writer_free(struct dep_writer *w);
/** dep_writer_segment_file() - make segments.NNN the current file */
int dep_writer_segment_file(struct dep_writer *w, u32 number);
/** dep_writer_leave_file() - end the current file; the next MARK syncs it */
int dep_writer_leave_file(struct dep_writer *w);
/** dep_writer_roll() - begin a new file if @more bytes would make the current one too large */
int dep_writer_roll(struct dep_writer *w, u64 more);
/** dep_writer_frame() - dep_log_append(); an error is kept in @w->error */
int dep_writer_frame(struct dep_writer *w, const struct dep_new_frame *f);
/** dep_writer_reserve() - update the disk space that is reserved for the last frames */
void dep_writer_reserve(struct dep_writer *w);
/** dep_writer_flush() - let the kernel start writing segments to the disk; does not wait */
void dep_writer_flush(struct dep_writer *w);
/** dep_writer_sync() - sync the log and all segments; after a failure it always fails */
int dep_writer_sync(struct dep_writer *w);
/** dep_writer_unsure() - note the result @err of a sync; returns it, or the first failure if 0 */
int dep_writer_unsure(struct dep_writer *w, int err);
/** dep_writer_build_id() - log the build-id of a mapping's file, if the file can be read */
int dep_writer_build_id(struct dep_writer *w, u32 process, const struct adept_desc_map *map);

#endif
