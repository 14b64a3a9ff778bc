/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The value column as differences.
 *
 * A store mostly writes what it wrote when its record last left by the same exit,
 * or a little more.  So each value is replaced by its difference to that one, and
 * of the difference only the bytes in use are kept: their number (0..8) goes to one
 * stream, four bits each, the bytes to another.  Measured on gzip, perl, python3
 * and cc1 this takes half the space of the values under zstd alone, and no more time.
 */
#ifndef ADEPT_FORMAT_CODEC_DELTA_H
#define ADEPT_FORMAT_CODEC_DELTA_H

#include <string.h>

#include "exit_index.h"

#define DEP_DELTA_BITS	13
#define DEP_DELTA_RUN	512u	/* words of a record at most: ADEPT_MAX_RECORD / 8 and some */
#define DEP_DELTA_SLOTS	((1u << DEP_DELTA_BITS) + DEP_DELTA_RUN)

/** struct dep_delta - in front of a value column of codec DEP_C_DELTA */
struct dep_delta {
	u32 bytes_raw;		/* of the stream of bytes */
	u32 lens_stored;	/* the stream of lengths comes first, then the bytes */
	u8 lens_codec, bytes_codec;	/* enum dep_codec */
	u16 pad;
	u32 pad2;
};

/* Where the values of exit or event @id were seen last; 0 for those of the tail. */
static inline u32 dep_delta_slot(u32 id)
{
	return id * 0x9e3779b1u >> (32 - DEP_DELTA_BITS);
}

/* One value: @at is where its predecessor is; up to 8 bytes are written to @bytes. */
static inline u32 dep_delta_put(u64 *at, u64 value, u8 *bytes)
{
	u64 d = value - *at;

	*at = value;
	d = d << 1 ^ -(d >> 63);
	memcpy(bytes, &d, 8);
	/* In this form it is three instructions where there is lzcnt. */
	return (71 - (d ? (u32)__builtin_clzll(d) : 64)) >> 3;
}

/**
 * dep_delta_lens() - lengths in bytes -> two in a byte, in place
 * @len: @n bytes, 16 more may be overwritten
 *
 * Return: how many bytes that are.
 */
u32 dep_delta_lens(u8 *len, u32 n);

/** struct dep_delta_in - the streams, unpacked */
struct dep_delta_in {
	const u8 *lens;		/* two in a byte */
	const u8 *bytes;	/* bytes_size, 8 more may be read */
	u32 bytes_size;
};

/** dep_delta_differences() - the streams -> @n differences at @value; 0 or -EBADMSG */
int dep_delta_differences(const struct dep_delta_in *in, u64 *value, u32 n);

/**
 * dep_delta_sum() - differences -> values, of words @from.. of one record or event
 * @last: DEP_DELTA_SLOTS, of the same segment; at its beginning they are 0
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
