/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which file descriptors are one open file, or the two ends of one connection: what is
 * written to one of them is read from another.  Of those whose making was not seen each
 * is a file of its own, and the same one in all processes.  Sockets that are connected by
 * address are all taken for one.
 */
#ifndef ADEPT_ANALYZE_SYNC_OPEN_FILES_H
#define ADEPT_ANALYZE_SYNC_OPEN_FILES_H

#include "libdep/abi/types.h"

#define SYNC_FILES_MAX	65536u	/* descriptors beyond are taken for one file */

struct sync_files {
	struct sync_file_table {
		u32 refs;	/* processes have it in common until one of them changes it */
		u32 room;
		u32 file[];	/* by descriptor; 0: not known */
	} *table;
	u32 own;
	u32 *last;		/* number, of all that share them; NULL: @own */
};

#define SYNC_SOCKETS	1u	/* the file that stands for all of them */
#define SYNC_UNKNOWN	2u	/* the first of those that are not known, by descriptor */

/** sync_file() - the file that @fd is */
u32 sync_file(const struct sync_files *f, s64 fd);

/* The next four return 0 or -ENOMEM, and do nothing to negative descriptors. */

/** sync_file_new() - @fd is a new file; @other, if not negative, is the same */
int sync_file_new(struct sync_files *f, s64 fd, s64 other);
/** sync_file_set() - @fd is @file */
int sync_file_set(struct sync_files *f, s64 fd, u32 file);
/** sync_file_same() - @fd is what @like is */
int sync_file_same(struct sync_files *f, s64 fd, s64 like);
/** sync_file_socket() - @fd is a socket, connected to who knows what */
int sync_file_socket(struct sync_files *f, s64 fd);
/** sync_files_copy() - a child begins with what its parent has */
void sync_files_copy(struct sync_files *to, const struct sync_files *from);
void sync_files_free(struct sync_files *f);

#endif
