/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The value column as differences.
 *
 * A value often equals the one that the same exit stored last, or is a little more.  So each value
 * is replaced by its difference to that one, and only the bytes in use are kept: their number
 * (0..8) goes to one stream, four bits each, the bytes to another.  Measured on gzip, perl, python3
 * and cc1 this takes half the space of the values under zstd alone, and no more time.
 */
#ifndef ADEPT_FORMAT_CODEC_DELTA_H
#define ADEPT_FORMAT_CODEC_DELTA_H

#include <string.h>

#include "exit_index.h"

#define DEP_DELTA_BITS	13
#define DEP_DELTA_RUN	512u	/* maximum of a record's words: ADEPT_MAX_RECORD / 8 and some */
#define DEP_DELTA_SLOTS	((1u << DEP_DELTA_BITS) + DEP_DELTA_RUN)

/** struct dep_delta - header of a value column of codec DEP_C_DELTA */
struct dep_delta {
	u32 bytes_raw;		/* of the stream of bytes */
	u32 lens_stored;	/* the stream of lengths comes first, then the bytes */
	u8 lens_codec, bytes_codec;	/* enum dep_codec */
	u16 pad;
	u32 pad2;
};

/* Index of the last values of exit or event @id, among DEP_DELTA_SLOTS; @id 0: of the tail. */
static inline u32 dep_delta_slot(u32 id)
{
	return id * 0x9e3779b1u >> (32 - DEP_DELTA_BITS);
}

/* Put one value; @at has its predecessor.  Writes 8 bytes to @bytes; returns the number in use. */
static inline u32 dep_delta_put(u64 *at, u64 value, u8 *bytes)
{
	u64 d = value - *at;

	*at = value;
	d = d << 1 ^ -(d >> 63);
	memcpy(bytes, &d, 8);
	/* Compiles to three instructions on a processor with lzcnt. */
	return (71 - (d ? (u32)__builtin_clzll(d) : 64)) >> 3;
}

/**
 * dep_delta_lens() - pack lengths in place, two into a byte
 * @len: @n bytes; 8 more are overwritten
 *
 * Return: the number of bytes.
 */
u32 dep_delta_lens(u8 *len, u32 n);

/** struct dep_delta_in - the unpacked streams */
struct dep_delta_in {
	const u8 *lens;		/* two lengths in a byte */
	const u8 *bytes;	/* @bytes_size bytes; 8 more can be read */
	u32 bytes_size;
};

/** dep_delta_differences() - decode the streams to @n differences at @value; 0 or -EBADMSG */
int dep_delta_differences(const struct dep_delta_in *in, u64 *value, u32 n);

/**
 * dep_delta_sum() - replace differences by values: words @from and following of a record or event
 * @last: DEP_DELTA_SLOTS last values of the segment; all 0 at its beginning
 */
static inline void dep_delta_sum(u64 *last, u32 id, u32 from, u64 *value, u32 words)
{
	u64 *at = last + dep_delta_slot(id) + from;
	u32 i;

	for (i = 0; i < words; i++)
		value[i] = at[i] += value[i];
}

_Static_assert(sizeof(struct dep_delta) == 16, "wire layout");
_Static_assert(DEP_DELTA_RUN >= ADEPT_MAX_RECORD / 8, "a record's values fit after any slot");

#endif
