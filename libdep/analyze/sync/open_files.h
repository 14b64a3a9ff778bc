/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Maps file descriptors to open files. Both ends of a connection count as one file: data written to
 * one end is read from the other.
 *
 * A descriptor whose open was not recorded is treated as a separate file, the same one in all
 * processes. All sockets made by socket() or accept() count as one file.
 */
#ifndef ADEPT_ANALYZE_SYNC_OPEN_FILES_H
#define ADEPT_ANALYZE_SYNC_OPEN_FILES_H

#include "libdep/abi/types.h"

#define SYNC_FILES_MAX	65536u	/* all descriptors from here on count as one */

struct sync_files {
	struct sync_file_table {
		u32 refs;	/* processes that share it; it is copied on write */
		u32 room;
		u32 file[];	/* last file number, shared by a process group; NULL: @own */
	} *table;
	u32 own;
	u32 *last;		/* number, of all that share them; NULL: @own */
};

#define SYNC_SOCKETS	1u	/* the file for all sockets */
#define SYNC_UNKNOWN	2u	/* file of descriptor 0 whose open was not recorded */

/** sync_file() - the number of the file that @fd refers to */
u32 sync_file(const struct sync_files *f, s64 fd);

/* The next four return 0 or -ENOMEM and ignore negative descriptors. */

/** sync_file_new() - @fd is a new file; so is @other unless negative, the same one */
int sync_file_new(struct sync_files *f, s64 fd, s64 other);
/** sync_file_set() - @fd refers to @file */
int sync_file_set(struct sync_files *f, s64 fd, u32 file);
/** sync_file_same() - @fd refers to the file of @like */
int sync_file_same(struct sync_files *f, s64 fd, s64 like);
/** sync_file_socket() - @fd is a socket; its peer is not known */
int sync_file_socket(struct sync_files *f, s64 fd);
/** sync_files_copy() - a child inherits its parent's descriptors */
void sync_files_copy(struct sync_files *to, const struct sync_files *from);
void sync_files_free(struct sync_files *f);

#endif
