/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Map of file descriptors to open files. Both ends of a connection count as one file, since data
 * written to one end is read from the other.
 *
 * A descriptor whose open was not recorded is treated as a separate file, the same one in all
 * processes. All sockets made by socket() or accept() count as one file. In a process that was
 * attached to, which descriptors belong together was not recorded: those opened before the attach
 * count as one file, too, with the sockets.
 */
#ifndef ADEPT_ANALYZE_SYNC_OPEN_FILES_H
#define ADEPT_ANALYZE_SYNC_OPEN_FILES_H

#include <stdbool.h>

#include "libdep/abi/types.h"

#define SYNC_FILES_MAX	65536u	/* all descriptors from SYNC_FILES_MAX - 1 on count as one */

struct sync_files {
	struct sync_file_table {
		/* number of processes that share the table; it is copied on write */
		u32 refs;
		u32 room;
		u32 file[];	/* file number by descriptor; 0: open not recorded */
	} *table;
	u32 own;
	/* the process was attached to: files opened before, and sockets, count as one */
	bool attached;
	/* last file number given out, shared by a process group; NULL: it is @own */
	u32 *last;
};

#define SYNC_SOCKETS	1u	/* file number of all sockets */
/* SYNC_UNKNOWN + n: file number of descriptor n if its open was not recorded */
#define SYNC_UNKNOWN	2u

/** sync_file() - get the number of the file that descriptor @fd refers to */
u32 sync_file(const struct sync_files *f, s64 fd);

/* The following functions that return int return 0 or -ENOMEM and ignore negative descriptors. */

/** sync_file_new() - @fd refers to a new file, and @other, unless negative, to the same one */
int sync_file_new(struct sync_files *f, s64 fd, s64 other);
/** sync_file_set() - @fd refers to the file with number @file */
int sync_file_set(struct sync_files *f, s64 fd, u32 file);
/** sync_file_same() - @fd refers to the same file as descriptor @like */
int sync_file_same(struct sync_files *f, s64 fd, s64 like);
/** sync_file_socket() - @fd is a socket with an unknown peer */
int sync_file_socket(struct sync_files *f, s64 fd);
/** sync_files_copy() - the child *@to inherits the descriptors of its parent *@from */
void sync_files_copy(struct sync_files *to, const struct sync_files *from);
/** sync_files_forget() - which files are open now is not known, as after an attach */
void sync_files_forget(struct sync_files *f);
void sync_files_free(struct sync_files *f);

#endif
