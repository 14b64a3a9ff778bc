// SPDX-License-Identifier: GPL-2.0-or-later
/* bzip2, zstd and xz. */
#include <bzlib.h>
#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <zstd.h>

#include "compress.h"

const char *const codec_names[CODECS] = { "sequitur", "bzip2", "zstd", "xz" };

/* ---- bzip2 ---- */

static int bzip2_begin(struct compressor *c)
{
	c->state = calloc(1, sizeof(bz_stream));
	if (!c->state || BZ2_bzCompressInit(c->state, 9, 0, 0) != BZ_OK)
		return -ENOMEM;
	return 0;
}

static int bzip2_run(struct compressor *c, const void *data, size_t size, int action)
{
	bz_stream *z = c->state;
	char out[COMPRESS_OUT];
	int ret, err;

	z->next_in = (char *)data;
	z->avail_in = (unsigned int)size;
	do {
		z->next_out = out;
		z->avail_out = sizeof(out);
		ret = BZ2_bzCompress(z, action);
		if (ret < 0)
			return -EIO;
		err = compressor_out(c, out, sizeof(out) - z->avail_out);
		if (err)
			return err;
	} while (action == BZ_RUN ? z->avail_in != 0 : ret != BZ_STREAM_END);
	return 0;
}

static int bzip2_put(struct compressor *c, const void *data, size_t size)
{
	return bzip2_run(c, data, size, BZ_RUN);
}

static int bzip2_end(struct compressor *c)
{
	return bzip2_run(c, NULL, 0, BZ_FINISH);
}

static void bzip2_free(struct compressor *c)
{
	/* Does nothing to a stream that was not begun. */
	if (c->state)
		BZ2_bzCompressEnd(c->state);
	free(c->state);
}

/* ---- zstd ---- */

static int zstd_begin(struct compressor *c)
{
	c->state = ZSTD_createCCtx();
	if (!c->state ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(c->state, ZSTD_c_compressionLevel, 3)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(c->state, ZSTD_c_checksumFlag, 1)))
		return -ENOMEM;
	return 0;
}

static int zstd_run(struct compressor *c, const void *data, size_t size, ZSTD_EndDirective how)
{
	ZSTD_inBuffer in = { data, size, 0 };
	char buffer[COMPRESS_OUT];
	ZSTD_outBuffer out;
	size_t left;
	int err;

	do {
		out = (ZSTD_outBuffer){ buffer, sizeof(buffer), 0 };
		left = ZSTD_compressStream2(c->state, &out, &in, how);
		if (ZSTD_isError(left))
			return -EIO;
		err = compressor_out(c, buffer, out.pos);
		if (err)
			return err;
	} while (how == ZSTD_e_continue ? in.pos < in.size : left != 0);
	return 0;
}

static int zstd_put(struct compressor *c, const void *data, size_t size)
{
	return zstd_run(c, data, size, ZSTD_e_continue);
}

static int zstd_end(struct compressor *c)
{
	return zstd_run(c, NULL, 0, ZSTD_e_end);
}

static void zstd_free(struct compressor *c)
{
	ZSTD_freeCCtx(c->state);
}

/* ---- xz ---- */

static int xz_begin(struct compressor *c)
{
	lzma_stream *z = calloc(1, sizeof(*z));

	c->state = z;
	if (!z || lzma_easy_encoder(z, 6, LZMA_CHECK_CRC64) != LZMA_OK)
		return -ENOMEM;
	return 0;
}

static int xz_run(struct compressor *c, const void *data, size_t size, lzma_action action)
{
	lzma_stream *z = c->state;
	uint8_t out[COMPRESS_OUT];
	lzma_ret ret;
	int err;

	z->next_in = data;
	z->avail_in = size;
	do {
		z->next_out = out;
		z->avail_out = sizeof(out);
		ret = lzma_code(z, action);
		if (ret != LZMA_OK && ret != LZMA_STREAM_END)
			return ret == LZMA_MEM_ERROR ? -ENOMEM : -EIO;
		err = compressor_out(c, out, sizeof(out) - z->avail_out);
		if (err)
			return err;
	} while (action == LZMA_RUN ? z->avail_in != 0 : ret != LZMA_STREAM_END);
	return 0;
}

static int xz_put(struct compressor *c, const void *data, size_t size)
{
	return xz_run(c, data, size, LZMA_RUN);
}

static int xz_end(struct compressor *c)
{
	return xz_run(c, NULL, 0, LZMA_FINISH);
}

static void xz_free(struct compressor *c)
{
	if (c->state)
		lzma_end(c->state);
	free(c->state);
}

/* ---- all ---- */

static const struct compressor_ops bzip2_ops = { bzip2_begin, bzip2_put, bzip2_end, bzip2_free };
static const struct compressor_ops zstd_ops = { zstd_begin, zstd_put, zstd_end, zstd_free };
static const struct compressor_ops xz_ops = { xz_begin, xz_put, xz_end, xz_free };

int compressor_begin(struct compressor *c, enum codec codec, uint32_t unit, FILE *out)
{
	static const struct compressor_ops *const ops[CODECS] = {
		&sequitur_ops, &bzip2_ops, &zstd_ops, &xz_ops,
	};

	*c = (struct compressor){ .ops = ops[codec], .unit = unit, .out = out };
	return c->ops->begin(c);
}

int compressor_put(struct compressor *c, const void *data, size_t size)
{
	return size ? c->ops->put(c, data, size) : 0;
}

int compressor_end(struct compressor *c)
{
	return c->ops->end(c);
}

void compressor_free(struct compressor *c)
{
	if (c->ops)
		c->ops->free(c);
	c->ops = NULL;
}
