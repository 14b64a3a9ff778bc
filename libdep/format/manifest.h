/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* manifest.json: what was recorded, where, how it ended. */
#ifndef DEP_FORMAT_MANIFEST_H
#define DEP_FORMAT_MANIFEST_H

#include "../../include/dep/store.h"

#define DEP_MANIFEST_NAME "manifest.json"

struct dep_manifest {
	struct dep_meta meta;
	struct dep_loss loss;
	int closed;		/* 1: the final manifest */
	int exit_status;
	void *tree;		/* owns the strings (cJSON) */
	char **argv;
};

/** dep_manifest_write() - replace the manifest; @loss NULL for the one of the beginning */
int dep_manifest_write(int dirfd, const struct dep_meta *meta, const struct dep_loss *loss,
		       int exit_status);

/** dep_manifest_read() - read it; 0, or a negative errno and *@m is all zero */
int dep_manifest_read(int dirfd, struct dep_manifest *m);
void dep_manifest_free(struct dep_manifest *m);

#endif
