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

#define ORDER_FILES_MAX	65536u	/* descriptors beyond are taken for one file */

struct order_files {
	struct order_file_table {
		u32 refs;	/* processes have it in common until one of them changes it */
		u32 room;
		u32 file[];	/* by descriptor; 0: not known */
	} *table;
	u32 own;
	u32 *last;		/* number, of all that share them; NULL: @own */
};

#define ORDER_SOCKETS	1u	/* the file that stands for all of them */
#define ORDER_UNKNOWN	2u	/* the first of those that are not known, by descriptor */

/** order_file() - the file that @fd is */
u32 order_file(const struct order_files *f, s64 fd);

/* The next four return 0 or -ENOMEM, and do nothing to negative descriptors. */

/** order_file_new() - @fd is a new file; @other, if not negative, is the same */
int order_file_new(struct order_files *f, s64 fd, s64 other);
/** order_file_set() - @fd is @file */
int order_file_set(struct order_files *f, s64 fd, u32 file);
/** order_file_same() - @fd is what @like is */
int order_file_same(struct order_files *f, s64 fd, s64 like);
/** order_file_socket() - @fd is a socket, connected to who knows what */
int order_file_socket(struct order_files *f, s64 fd);
/** order_files_copy() - a child begins with what its parent has */
void order_files_copy(struct order_files *to, const struct order_files *from);
void order_files_free(struct order_files *f);

#endif
