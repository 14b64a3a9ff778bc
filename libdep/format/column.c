// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "column.h"
#include "error.h"

struct dep_packer {
	ZSTD_CCtx *cctx;
	int level;
};

struct dep_packer *dep_packer_new(int level)
{
	struct dep_packer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->level = level;
	p->cctx = ZSTD_createCCtx();
	if (!p->cctx) {
		free(p);
		return NULL;
	}
	return p;
}

void dep_packer_free(struct dep_packer *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->cctx);
	free(p);
}

size_t dep_column_bound(size_t size)
{
	return ZSTD_compressBound(size);
}

u32 dep_column_pack(struct dep_packer *p, const void *in, u32 size, unsigned int width,
		    u8 *out, u8 *codec)
{
	size_t n;

	(void)width;
	*codec = DEP_C_RAW;
	if (!size)
		return 0;
	n = ZSTD_compressCCtx(p->cctx, out, dep_column_bound(size), in, size, p->level);
	if (!ZSTD_isError(n) && n < size) {
		*codec = DEP_C_ZSTD;
		return n;
	}
	memcpy(out, in, size);
	return size;
}

/* Byte k of word i is at k * words + i. */
static void planes_to_words(const u8 *in, u8 *out, u32 words, unsigned int width)
{
	unsigned int k;
	u32 i;

	for (k = 0; k < width; k++)
		for (i = 0; i < words; i++)
			out[(size_t)i * width + k] = in[(size_t)k * words + i];
}

static int inflate(const void *in, u32 in_size, void *out, u32 size)
{
	size_t n = ZSTD_decompress(out, size, in, in_size);

	if (ZSTD_isError(n) || n != size)
		return dep_fail(-EBADMSG, "a column does not decompress");
	return 0;
}

int dep_column_unpack(u8 codec, const void *in, u32 in_size, unsigned int width, void *out,
		      u32 size)
{
	u8 *tmp;
	int err;

	switch (codec) {
	case DEP_C_RAW:
		if (in_size != size)
			return dep_fail(-EBADMSG, "a raw column has the wrong length");
		if (size)
			memcpy(out, in, size);
		return 0;
	case DEP_C_ZSTD:
		return inflate(in, in_size, out, size);
	case DEP_C_PLANES_ZSTD:
		if (size % width)
			return dep_fail(-EBADMSG, "a column of planes has the wrong length");
		tmp = malloc(size + 1);
		if (!tmp)
			return dep_fail(-ENOMEM, "column");
		err = inflate(in, in_size, tmp, size);
		if (!err)
			planes_to_words(tmp, out, size / width, width);
		free(tmp);
		return err;
	}
	return dep_fail(-EBADMSG, "unknown compression %u", codec);
}
