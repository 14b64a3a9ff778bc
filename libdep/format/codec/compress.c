// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <limits.h>
#include <lz4.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "compress.h"
#include "libdep/format/file/error.h"

struct dep_packer {
	ZSTD_CCtx *cctx;
	int level;
};

struct dep_packer *dep_packer_new(void)
{
	struct dep_packer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
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

void dep_packer_level(struct dep_packer *p, int level)
{
	p->level = level;
}

size_t dep_column_bound(size_t size)
{
	size_t bound = ZSTD_compressBound(size), quick = size + size / 255 + 16;

	/* @quick is LZ4_compressBound(), which itself fails beyond LZ4_MAX_INPUT_SIZE. */
	return bound > quick ? bound : quick;
}

/* Return: bytes written to @out; 0: compression is off, failed, or does not make it smaller */
static size_t compress(struct dep_packer *p, const void *in, u32 size, u8 *out, u8 *codec)
{
	size_t bound = dep_column_bound(size), n;

	if (p->level == DEP_PACKER_NONE)
		return 0;
	if (p->level < 0) {
		*codec = DEP_C_LZ4;
		n = bound <= INT_MAX ? LZ4_compress_default(in, (char *)out, size, bound) : 0;
	} else {
		*codec = DEP_C_ZSTD;
		n = ZSTD_compressCCtx(p->cctx, out, bound, in, size, p->level);
	}
	return !ZSTD_isError(n) && n < size ? n : 0;
}

u32 dep_column_pack(struct dep_packer *p, const void *in, u32 size, u8 *out, u8 *codec)
{
	size_t n = size ? compress(p, in, size, out, codec) : 0;

	if (n)
		return n;
	*codec = DEP_C_RAW;
	if (size)
		memcpy(out, in, size);
	return size;
}

static int inflate(u8 codec, const void *in, u32 in_size, void *out, u32 size)
{
	size_t n = SIZE_MAX;

	if (codec == DEP_C_ZSTD)
		n = ZSTD_decompress(out, size, in, in_size);
	else if (in_size <= INT_MAX && size <= INT_MAX)
		n = LZ4_decompress_safe(in, out, in_size, size);
	if (n != size)
		return dep_fail(-EBADMSG, "cannot decompress a column of a segment");
	return 0;
}

int dep_column_unpack(u8 codec, const void *in, u32 in_size, void *out, u32 size)
{
	switch (codec) {
	case DEP_C_RAW:
		if (in_size != size)
			return dep_fail(-EBADMSG, "an uncompressed column of a segment has the "
					"wrong length");
		if (size)
			memcpy(out, in, size);
		return 0;
	case DEP_C_ZSTD:
	case DEP_C_LZ4:
		return inflate(codec, in, in_size, out, size);
	}
	return dep_fail(-EBADMSG, "a column of a segment has unknown compression %u", codec);
}
