/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compress a stream to find its size: depctl info --compress. */
#ifndef DEPCTL_STORE_COMPRESS_H
#define DEPCTL_STORE_COMPRESS_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum codec { CODEC_SEQUITUR, CODEC_BZIP2, CODEC_ZSTD, CODEC_XZ, CODECS };

/* Names in output, by enum codec. */
extern const char *const codec_names[CODECS];

struct compressor;

/**
 * struct compressor_ops - what a codec does; all return 0 or a negative errno
 * @begin: sets c->state
 * @put: compress data
 * @end: write what is left
 * @free: @end may not have been called, or may have failed
 */
struct compressor_ops {
	int (*begin)(struct compressor *c);
	int (*put)(struct compressor *c, const void *data, size_t size);
	int (*end)(struct compressor *c);
	void (*free)(struct compressor *c);
};

/**
 * struct compressor - a stream that is being compressed
 * @unit: bytes of a symbol of Sequitur; each put() has whole ones
 * @out: receives the result; NULL: it is counted only
 * @bytes: number of bytes of the result
 * @grammars: with Sequitur: number of grammars
 */
struct compressor {
	const struct compressor_ops *ops;
	void *state;
	uint32_t unit;
	FILE *out;
	uint64_t bytes, grammars;
};

/**
 * compressor_begin() - begin a stream
 *
 * bzip2, zstd and xz compress as these programs do with their usual levels: 9, 3 and 6.  xz needs
 * 94 MiB of memory, Sequitur at most SEQUITUR_MEMORY and a grammar written half as much again.
 *
 * Return: 0 or a negative errno.  compressor_free() must be called in both cases.
 */
int compressor_begin(struct compressor *c, enum codec codec, uint32_t unit, FILE *out);
int compressor_put(struct compressor *c, const void *data, size_t size);
int compressor_end(struct compressor *c);
void compressor_free(struct compressor *c);

/* ---- for the codecs ---- */

#define COMPRESS_OUT	(64u << 10)

/** compressor_out() - take a part of the result; 0 or a negative errno */
static inline int compressor_out(struct compressor *c, const void *data, size_t size)
{
	c->bytes += size;
	if (c->out && size && fwrite(data, size, 1, c->out) != 1)
		return -errno;
	return 0;
}

#define SEQUITUR_MEMORY	(128u << 20)	/* limit of a grammar; then the next one begins */

extern const struct compressor_ops sequitur_ops;

#endif
