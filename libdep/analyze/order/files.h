/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which file descriptors are one open file, or the two ends of one connection: what is
 * written to one of them is read from another.  Of those whose making was not seen each
 * is a file of its own.  Sockets that are connected by address are all taken for one.
 */
#ifndef DEP_RACES_FILES_H
#define DEP_RACES_FILES_H

#include "../../abi/types.h"

#define RACE_FILES_MAX	65536u	/* descriptors beyond are taken for one file */

struct race_files {
	u32 *file;		/* by descriptor; 0: not known yet */
	u32 room, last;
};

#define RACE_SOCKETS	1u	/* the file that stands for all of them */

/** race_file() - the file that @fd is; 0: no memory */
u32 race_file(struct race_files *f, s64 fd);
/** race_file_new() - @fd is a new file; @other, if not negative, is the same */
void race_file_new(struct race_files *f, s64 fd, s64 other);
/** race_file_set() - @fd is @file */
void race_file_set(struct race_files *f, s64 fd, u32 file);
/** race_file_same() - @fd is what @like is */
void race_file_same(struct race_files *f, s64 fd, s64 like);
/** race_file_socket() - @fd is a socket, connected to who knows what */
void race_file_socket(struct race_files *f, s64 fd);
void race_files_free(struct race_files *f);

#endif
