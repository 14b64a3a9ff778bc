/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The chunks of a window on the disk (window_disk.h): files window.NNN in the directory of the
 * store. Each is only appended to, and is removed when the window has none of its chunks any more.
 *
 * The files are read and written by system calls, not mapped: a full disk, a bad sector or a file
 * that someone truncates gives an error, not a SIGBUS.
 */
#ifndef ADEPT_COLLECT_WINDOW_FILES_H
#define ADEPT_COLLECT_WINDOW_FILES_H

#include "kept_chunk.h"
#include "libdep/format/write/store_dir.h"

struct dep_disk;

/** struct dep_window_file - a file, open for the window and all that have chunks of it */
struct dep_window_file {
	struct dep_window_file *next;	/* in the window's list, oldest first */
	u32 refs;		/* the window, and chunks, also those that only a snapshot has */
	u32 number;
	u64 held;		/* chunks that the window has, and that are not stored yet */
	bool failed;		/* a chunk could not be stored */
	struct dep_disk *disk;	/* the window's; NULL: the file was opened to read it */
	u64 seed;		/* of the checksums */
	struct dep_file file;
};

/** dep_window_file_new() - create window.@number; 0 or a negative errno after dep_fail() */
int dep_window_file_new(struct dep_window_file **out, const struct dep_store_dir *at, u32 number);
/** dep_window_file_open() - open an existing file to read it, and check its header; likewise */
int dep_window_file_open(struct dep_window_file **out, const struct dep_store_dir *at, u32 number);

static inline void dep_window_file_get(struct dep_window_file *f)
{
	__atomic_fetch_add(&f->refs, 1, __ATOMIC_RELAXED);
}

/** dep_window_file_put() - drop a reference; the last one closes the file */
void dep_window_file_put(struct dep_window_file *f);
/** dep_window_file_remove() - remove the name of a file */
void dep_window_file_remove(const struct dep_window_file *f, const struct dep_store_dir *at);

/** dep_window_file_size() - bytes of the file for a chunk with @fill bytes */
u64 dep_window_file_size(u32 fill);
/**
 * dep_window_file_append() - append a chunk; sets its @offset, @body_check and @size
 * @k: of this file, with all fields that the file gets
 * @body: does not change meanwhile
 *
 * Return: 0 or a negative errno after dep_fail(); then the file is as before.
 */
int dep_window_file_append(struct dep_kept_chunk *k, const u8 *body);
/** dep_window_file_read() - read the body of @k to @to; 0, -EBADMSG or a negative errno */
int dep_window_file_read(const struct dep_kept_chunk *k, u8 *to);
/**
 * dep_window_file_next() - find the next chunk in a file that was opened
 * @at: offset of the chunk; 0: the first one. Receives the offset of the next one
 *
 * The body is not read. Return: 1: *@out is a chunk; 0: the file ends at *@at; -ENODATA: it ends in
 * the middle of a chunk; -EBADMSG: it is damaged there; or a negative errno.
 */
int dep_window_file_next(struct dep_window_file *f, u64 *at, struct dep_kept_chunk **out);

#endif
