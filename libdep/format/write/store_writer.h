/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writing a store: one writer per store, calls from one thread.
 *
 * Not public: it takes chunks and descriptors in the layout of libdep/abi, which changes with the
 * engine.
 */
#ifndef ADEPT_FORMAT_WRITE_STORE_WRITER_H
#define ADEPT_FORMAT_WRITE_STORE_WRITER_H

#include "libdep/format/file/ending.h"

struct adept_chunk;

#define DEP_LEVEL_QUICK	(-1)	/* fast compression, for a short-lived store */

struct dep_writer;

/**
 * dep_writer_create() - make the directory @dir and begin a store in it
 * @compress_level: level of zstd, or 0 for the default.  DEP_LEVEL_QUICK compresses the control
 *	column with LZ4 and leaves value columns uncompressed.
 *
 * The writer locks the store until it closes the store: no other writer can open it.
 *
 * Return: 0 or a negative errno; -EEXIST if @dir exists.
 */
int dep_writer_create(struct dep_writer **w, const char *dir, const struct dep_meta *meta,
		      int compress_level);
int dep_writer_process(struct dep_writer *w, const struct dep_process *p);
/** dep_writer_process_end() - store end_ns, built and translate_ns of process @p->serial */
int dep_writer_process_end(struct dep_writer *w, const struct dep_process *p);
int dep_writer_thread(struct dep_writer *w, const struct dep_thread *t);
int dep_writer_thread_end(struct dep_writer *w, const struct dep_thread *t);

/**
 * dep_writer_descriptors() - append whole descriptors of process @process
 *
 * Must be called before the segments that contain ids of these descriptors.
 *
 * Return: 0 or a negative errno; -EBADMSG if a descriptor is invalid (stream.h): this descriptor
 * and all after it are not stored.
 */
int dep_writer_descriptors(struct dep_writer *w, uint32_t process, const void *data, size_t size);

/**
 * dep_writer_segment() - store one chunk of thread @thread
 * @chunk: state of the chunk as published.  For the unpublished chunk of a killed thread, the
 *	caller sets the fields, @fill by dep_writer_scan().
 * @body: chunk->fill bytes
 *
 * If the body does not parse, it is stored up to the first bad record, and the rest is counted as
 * lost.
 */
int dep_writer_segment(struct dep_writer *w, uint32_t thread, const struct adept_chunk *chunk,
		       const void *body);

/**
 * dep_writer_scan() - find the end of the whole records in an unpublished chunk
 *
 * Return: the offset of the first zero id, unknown id, or cut record; at most @size.
 */
uint32_t dep_writer_scan(struct dep_writer *w, const void *body, uint32_t size);
uint64_t dep_writer_bytes(const struct dep_writer *w);	/* size of log and segment files so far */
int dep_writer_message(struct dep_writer *w, const char *text);
/**
 * dep_writer_mark() - sync the store, then log a MARK frame: all segments so far are on the disk
 *
 * Does nothing for a temporary store, or if nothing was stored since the last mark.  After an
 * error the caller should close the store, since the disk's state is unknown.
 */
int dep_writer_mark(struct dep_writer *w);
/** dep_writer_unmarked() - bytes of segments stored since the last dep_writer_mark() */
uint64_t dep_writer_unmarked(const struct dep_writer *w);
/**
 * dep_writer_last() - log the bounds of a recording with --last, and what was dropped
 *
 * Call it when the store is made, without threads, and once more before the first segment.
 */
int dep_writer_last(struct dep_writer *w, const struct dep_last *last);
/**
 * dep_writer_close() - write the last frame, the final manifest and the catalog
 *
 * Always frees @w.  Space for the last frame was reserved, in case the disk is full.  If storing
 * failed earlier, the stored cause is DEP_CLOSE_FAILED instead of that in @ending.
 *
 * Return: 0; 1 if the store is closed but lacks the final manifest or the catalog, which
 * dep_store_rebuild() can make later; a negative errno if the last frame could not be written.
 */
int dep_writer_close(struct dep_writer *w, const struct dep_ending *ending);
/** dep_writer_discard() - free @w without closing the store; the files stay as they are */
void dep_writer_discard(struct dep_writer *w);

#endif
