// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compress output by gzip.  The header has no time and no name: equal data makes equal files.
 */
#include "tools/depctl/depctl.h"
#include "gzip.h"

#define WINDOW_BITS	(15 + 16)	/* 16: with a gzip header */
#define MEMORY_LEVEL	8		/* zlib's default */

int gzip_begin(struct gzip *g, struct out *o)
{
	memset(g, 0, sizeof(*g));
	g->o = o;
	if (deflateInit2(&g->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) == Z_OK)
		return 0;
	warn("out of memory");
	return 1;
}

static void deflate_all(struct gzip *g, int flush)
{
	unsigned char packed[16384];

	do {
		g->z.next_out = packed;
		g->z.avail_out = sizeof(packed);
		deflate(&g->z, flush);
		out_block(g->o, (const char *)packed, sizeof(packed) - g->z.avail_out);
	} while (!g->z.avail_out);
}

void gzip_put(struct gzip *g, const void *data, size_t size)
{
	const unsigned char *at = data;
	uInt part;

	while (size) {
		part = size < 1u << 30 ? (uInt)size : 1u << 30;
		g->z.next_in = (unsigned char *)at;
		g->z.avail_in = part;
		deflate_all(g, Z_NO_FLUSH);
		at += part;
		size -= part;
	}
}

void gzip_end(struct gzip *g)
{
	g->z.next_in = NULL;
	g->z.avail_in = 0;
	deflate_all(g, Z_FINISH);
	deflateEnd(&g->z);
}
