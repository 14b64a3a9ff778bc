/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An open store, for the parts of libdep. */
#ifndef DEP_FORMAT_STORE_H
#define DEP_FORMAT_STORE_H

#include "manifest.h"
#include "model.h"
#include "segfile.h"

struct dep_store {
	int dirfd;
	void *log;		/* what the model points into */
	size_t log_size;
	struct dep_model model;
	struct dep_manifest manifest;
	struct dep_loss loss;
	struct dep_seg_list segs;
	int *fds;		/* of segments.NNN, -1 = missing */
	u32 nfds;
};

static inline struct dep_fragment *dep_store_fragment(struct dep_store *s, u32 n)
{
	return (struct dep_fragment *)s->model.fragments.row + n;
}

/** dep_store_columns() - read one segment; any number of threads at once */
int dep_store_columns(struct dep_store *s, const struct dep_segment *seg,
		      struct dep_columns *c);

/** dep_catalog_write() - write the tables of @s into catalog.db of its directory */
int dep_catalog_write(struct dep_store *s, const char *dir);

#endif
