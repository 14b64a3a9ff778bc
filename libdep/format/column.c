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
	return ZSTD_compressBound(size);
}

u32 dep_column_pack(struct dep_packer *p, const void *in, u32 size, u8 *out, u8 *codec)
{
	size_t n = 0;

	*codec = DEP_C_RAW;
	if (!size)
		return 0;
	if (p->level != DEP_PACKER_NONE)
		n = ZSTD_compressCCtx(p->cctx, out, dep_column_bound(size), in, size, p->level);
	if (n && !ZSTD_isError(n) && n < size) {
		*codec = DEP_C_ZSTD;
		return n;
	}
	memcpy(out, in, size);
	return size;
}

static int inflate(const void *in, u32 in_size, void *out, u32 size)
{
	size_t n = ZSTD_decompress(out, size, in, in_size);

	if (ZSTD_isError(n) || n != size)
		return dep_fail(-EBADMSG, "a column does not decompress");
	return 0;
}

int dep_column_unpack(u8 codec, const void *in, u32 in_size, void *out, u32 size)
{
	switch (codec) {
	case DEP_C_RAW:
		if (in_size != size)
			return dep_fail(-EBADMSG, "a raw column has the wrong length");
		if (size)
			memcpy(out, in, size);
		return 0;
	case DEP_C_ZSTD:
		return inflate(in, in_size, out, size);
	}
	return dep_fail(-EBADMSG, "unknown compression %u", codec);
}
