/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* State of a writer, shared by writer.c, descriptors.c, pack.c, mark.c, close.c and resume.c. */
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
	struct dep_meta meta;		/* deep copy of the caller's structure */
	struct dep_access access;
	struct dep_format fmt;
	void *manifest;			/* manifest.json as a cJSON tree */
	struct dep_log log;
	struct dep_file seg;
	u32 seg_number, first_file;
	u64 roll, flush;		/* DEP_SEG_ROLL, DEP_SEG_FLUSH; tests set smaller values */
	u64 closed_bytes;		/* total size of the segment files before the current one */
	u64 *file_size;			/* sizes of segment files before the current, by number */
	struct dep_table chains;	/* struct dep_chain of each thread with segments */
	u32 nprocesses, nthreads;	/* number of processes and threads in the log */
	struct dep_index index;
	u32 nfrags;
	/* fragments that dep_writer_forget() wants out of the index; the next admission does it */
	struct dep_forgotten *forgotten;
	int level;			/* compression level of zstd, or DEP_LEVEL_QUICK */
	u64 discarded_bytes;
	int error;			/* errno of the first failed write or sync, or 0 */
	int unsure;			/* errno of the first failed sync: no MARK follows; or 0 */
	/* The fields up to @flushed are for durable points (mark.c). */
	bool unnamed;			/* the names of the first files may not be on the disk */
	int *rolled;			/* descriptors of previous segment files not synced yet */
	u32 nrolled;
	u64 unmarked;			/* bytes of segments stored since the last MARK */
	u64 flushed;			/* offset in @seg up to which disk writes were started */
	struct dep_compressor *press;	/* buffers and contexts for dep_writer_segment() */
	u8 *desc;			/* copy of descriptors while they are checked and logged */
	size_t desc_room;
};

/** dep_writer_new() - allocate a writer that has no files yet; NULL without memory */
struct dep_writer *dep_writer_new(const char *dir, const struct dep_meta *meta, int level);
/** dep_writer_free() - free @w, not changing the store; @w may be NULL */
void dep_writer_free(struct dep_writer *w);
/** dep_writer_segment_file() - make segments.NNN the current file */
int dep_writer_segment_file(struct dep_writer *w, u32 number);
/** dep_writer_leave_file() - end the current file; the next MARK syncs it */
int dep_writer_leave_file(struct dep_writer *w);
/** dep_writer_roll() - begin a new file if @more bytes would make the current one too large */
int dep_writer_roll(struct dep_writer *w, u64 more);
/** dep_writer_frame() - append frame @f to the log; the first error is kept in @w->error */
int dep_writer_frame(struct dep_writer *w, const struct dep_new_frame *f);
/** dep_writer_reserve() - update the disk space that is reserved for the last frames */
void dep_writer_reserve(struct dep_writer *w);
/** dep_writer_flush() - let the kernel start writing segments to the disk; does not wait */
void dep_writer_flush(struct dep_writer *w);
/** dep_writer_sync() - sync the log and all segments; after a failure it always fails */
int dep_writer_sync(struct dep_writer *w);
/** dep_writer_unsure() - record result @err of a sync; returns @err, or an earlier sync's error */
int dep_writer_unsure(struct dep_writer *w, int err);
/** dep_writer_drop_forgotten() - free the lists of dep_writer_forget() */
void dep_writer_drop_forgotten(struct dep_writer *w);
/** dep_writer_build_id() - log the build-id of a mapping's file, if the file can be read */
int dep_writer_build_id(struct dep_writer *w, u32 process, const struct adept_desc_map *map);

#endif
