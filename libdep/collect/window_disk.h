/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A window on the disk, in the directory of the store, as --last-on-disk asks for.
 *
 *	window.log	entries of processes and threads, and descriptors: all that memory has, too
 *	window.NNN	chunks, the newest at the end of the file with the highest number
 *
 * window.log has the frames of a store's log. What the window drops stays there until the log is
 * written anew, as window.log.new, which then replaces it. Its first frame is LAST: chunks whose
 * number is below LAST.chunks were dropped, and their descriptors may be missing. All other chunks
 * in the files can be stored, also those that were dropped since.
 *
 * So a window whose collector was killed at any moment can be stored (window_recover.c). Nothing is
 * synced: after the machine went down some of it may be missing.
 *
 * Bytes: files + log + the log that is written anew <= limit, if chunks may have that much. The
 * limit is that of the window, until the disk is full: then the oldest file is removed, and the
 * limit becomes what there is without another one.
 *
 * Used by window*.c only; as window.h, by one thread at a time.
 */
#ifndef ADEPT_COLLECT_WINDOW_DISK_H
#define ADEPT_COLLECT_WINDOW_DISK_H

#include "window_files.h"
#include "window_parts.h"
#include "libdep/format/file/log.h"

struct dep_disk {
	struct dep_store_dir at;
	u64 limit;		/* of all files; any thread may read it */
	u64 max_memory;		/* bytes of memory for all that is not in @copy; 0: no limit */
	u64 part;		/* bytes of a file at which another one begins */
	u64 file_bytes;		/* of all files window.NNN */
	struct dep_window_file *oldest, *newest;
	u32 next;		/* number of the next file */
	struct dep_log log;
	u64 log_again;		/* bytes of the log from which on to write it anew */
	u64 chunks, bytes;	/* added, with those that were dropped */
	struct dep_body_buffer copy;
	bool early;		/* the disk is short: remove each file when its chunks are stored */
	bool keep;		/* dep_window_free() leaves the files */
};

/* ---- window_disk.c ---- */

/** dep_disk_room() - bytes that the files with chunks may have */
u64 dep_disk_room(const struct dep_window *w);
/**
 * dep_disk_add() - append the chunk of @job to a file
 *
 * Return: 0 or a negative errno after dep_fail().
 */
int dep_disk_add(struct dep_window *w, const struct dep_job *job, struct dep_moment now,
		 struct dep_kept_chunk **out);
/** dep_disk_dropped() - the window has dropped @k, but not the reference to it yet */
void dep_disk_dropped(struct dep_window *w, const struct dep_kept_chunk *k);
/** dep_disk_is_full() - true for errors that go away when files are removed */
bool dep_disk_is_full(int err);
/**
 * dep_disk_error() - error @err of a file of the window, as none that a chunk can be the cause of
 *
 * So the caller ends the recording, and does not reject only this chunk.
 */
int dep_disk_error(int err);
/** dep_disk_shrink() - the disk is full: remove the oldest file; false: there is no other one */
bool dep_disk_shrink(struct dep_window *w);
/** dep_disk_storing() - the chunks will be stored: find out if the disk has room for both */
void dep_disk_storing(struct dep_window *w);
/** dep_disk_stored() - called by a writer thread when @k is stored, or has failed with @err */
void dep_disk_stored(const struct dep_kept_chunk *k, int err);
void dep_disk_free(struct dep_disk *d);

/* ---- window_log.c ---- */

/** dep_disk_log_begin() - create the log */
int dep_disk_log_begin(struct dep_window *w);
/** dep_disk_log_live() - estimate: bytes of a log without what was dropped */
u64 dep_disk_log_live(const struct dep_window *w);
/** dep_disk_log_entry() - log the begin or end of a process or thread */
int dep_disk_log_entry(struct dep_window *w, const struct dep_job *job);
/** dep_disk_log_descriptors() - log descriptors that were added to the window */
int dep_disk_log_descriptors(struct dep_window *w, u32 process, const u8 *data, size_t size);
/** dep_disk_log_dropped() - log that the window has no chunk of @t any more */
void dep_disk_log_dropped(struct dep_window *w, const struct entry *t);
/** dep_disk_log_trim() - write the log anew, if much of it was dropped */
int dep_disk_log_trim(struct dep_window *w);

#endif
