/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small store of several threads and files, and its parts, for tests that remove, duplicate or
 * exchange parts.
 */
#ifndef TESTS_UNIT_FORMAT_PARTS_H
#define TESTS_UNIT_FORMAT_PARTS_H

#include "dep/verdict.h"
#include "libdep/format/write/writer.h"
#include "tests/unit/lib/stream.h"

#define PARTS_THREADS	3
#define PARTS_SEGMENTS	10
#define PARTS_FILES	8
#define PARTS_FRAMES	64
#define PARTS_ROLL	2048	/* gives several files of several segments each */

/** struct part - a frame of the log, or a segment */
struct part {
	u32 file;		/* of segments */
	const u8 *data;
	size_t at, size;	/* padding included */
	size_t used;		/* without padding */
};

/** struct parts - the files of a store in memory */
struct parts {
	struct dep_format fmt;
	u8 *log, *manifest, *file[PARTS_FILES];
	size_t log_size, manifest_size, file_size[PARTS_FILES];
	u32 nfiles;
	struct part segment[PARTS_SEGMENTS], frame[PARTS_FRAMES];
	size_t nsegments, nframes;
};

/* Nothing is dropped on request, so everything that is missing is a defect. */
extern const struct dep_meta parts_meta;

/** parts_stream() - what the threads do: PARTS_SEGMENTS chunks, dealt out in turn */
void parts_stream(struct stream *s);

/**
 * parts_write() - a whole session, but for its close
 * @end: how its threads end
 */
struct dep_writer *parts_write(const char *dir, const struct dep_meta *meta,
			       const struct stream *s, enum dep_thread_end end);

/** parts_thread(), parts_index() - of segment number @i in the order of writing */
static inline u32 parts_thread(size_t i)
{
	return i % PARTS_THREADS + 1;
}

static inline u64 parts_index(size_t i)
{
	return i / PARTS_THREADS;
}

void parts_load(struct parts *p, const char *dir);
void parts_free(struct parts *p);

/** parts_put() - write all files of @p into @dir, which is there */
void parts_put(const struct parts *p, const char *dir);

/**
 * parts_put_segments(), parts_put_frames() - write the files again, with these @n parts in order
 */
void parts_put_segments(const struct parts *p, const char *dir, const struct part *part, size_t n);
void parts_put_frames(const struct parts *p, const char *dir, const struct part *part, size_t n);

/** parts_seal() - make the checksum of a segment's header right again */
void parts_seal(const struct parts *p, u8 *segment);

#endif
