/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is needed to create further files in the directory of a store that is being written. */
#ifndef ADEPT_FORMAT_WRITE_STORE_DIR_H
#define ADEPT_FORMAT_WRITE_STORE_DIR_H

#include "libdep/format/file/append_file.h"

struct dep_writer;

/** struct dep_store_dir - a store's directory, and how its files begin */
struct dep_store_dir {
	int dirfd;		/* for openat() */
	struct dep_format fmt;
	struct dep_access access;
};

/** dep_writer_dir() - get that of @w; the caller owns @b->dirfd; 0 or a negative errno */
int dep_writer_dir(const struct dep_writer *w, struct dep_store_dir *b);

#endif
