/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compress output by gzip as it is written. */
#ifndef DEPCTL_EXPORT_GZIP_H
#define DEPCTL_EXPORT_GZIP_H

#include <zlib.h>

#include "tools/depctl/common/output.h"

struct gzip {
	struct out *o;
	z_stream z;
};

/** gzip_begin() - return 0, or 1 after a message */
int gzip_begin(struct gzip *g, struct out *o);
void gzip_put(struct gzip *g, const void *data, size_t size);
void gzip_end(struct gzip *g);

#endif
