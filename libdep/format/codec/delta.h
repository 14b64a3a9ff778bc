/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Coding of the value column as differences.
 *
 * A value of a record often equals the value at the same place in the last record of the same exit,
 * or is slightly larger.  So each value is replaced by its difference from the previous value, and
 * leading zero bytes of the difference are dropped.  One stream has the number of bytes that remain
 * (0..8, in 4 bits), another the bytes.  Measured on gzip, perl, python3 and cc1: half the size of
 * zstd alone, in the same time.
 */
#ifndef ADEPT_FORMAT_CODEC_DELTA_H
#define ADEPT_FORMAT_CODEC_DELTA_H

#include <string.h>

#include "exit_index.h"

#define DEP_DELTA_BITS	13
#define DEP_DELTA_RUN	512u	/* maximum words of a record, at least ADEPT_MAX_RECORD / 8 */
#define DEP_DELTA_SLOTS	((1u << DEP_DELTA_BITS) + DEP_DELTA_RUN)

/** struct dep_delta - header of a value column of codec DEP_C_DELTA */
struct dep_delta {
	u32 bytes_raw;		/* unpacked size of the stream of bytes */
	u32 lens_stored;	/* stored size of the stream of lengths; the bytes follow it */
	u8 lens_codec, bytes_codec;	/* enum dep_codec */
	u16 pad;
	u32 pad2;
};

/* Index of the previous values of exit or event @id; @id 0: of the unfinished record. */
static inline u32 dep_delta_slot(u32 id)
{
	return id * 0x9e3779b1u >> (32 - DEP_DELTA_BITS);
}

/*
 * Encode @value as difference from the previous value *@at, which is then set to @value.  Writes 8
 * bytes to @bytes.  Return: the number of bytes to keep.
 */
static inline u32 dep_delta_put(u64 *at, u64 value, u8 *bytes)
{
	u64 d = value - *at;

	*at = value;
	d = d << 1 ^ -(d >> 63);
	memcpy(bytes, &d, 8);
	/* The number of bytes of @d; three instructions on a processor with lzcnt. */
	return (71 - (d ? (u32)__builtin_clzll(d) : 64)) >> 3;
}

/**
 * dep_delta_lens() - pack lengths in place, two into a byte
 * @len: @n lengths of a byte each; 8 bytes after the lengths are overwritten
 *
 * Return: the packed size in bytes.
 */
u32 dep_delta_lens(u8 *len, u32 n);

/** struct dep_delta_in - the unpacked streams */
struct dep_delta_in {
	const u8 *lens;		/* lengths of differences, two in a byte */
	const u8 *bytes;	/* @bytes_size bytes of differences, and 8 that may be read */
	u32 bytes_size;
};

/** dep_delta_differences() - decode the streams to @n differences at @value; 0 or -EBADMSG */
int dep_delta_differences(const struct dep_delta_in *in, u64 *value, u32 n);

/**
 * dep_delta_sum() - replace differences by values
 * @last: the DEP_DELTA_SLOTS previous values; all 0 at the beginning of a segment
 * @id: exit or event whose words are at @value
 * @from: index of the first of these words in its record or event
 */
static inline void dep_delta_sum(u64 *last, u32 id, u32 from, u64 *value, u32 words)
{
	u64 *at = last + dep_delta_slot(id) + from;
	u32 i;

	for (i = 0; i < words; i++)
		value[i] = at[i] += value[i];
}

_Static_assert(sizeof(struct dep_delta) == 16, "size of a structure on disk changed");
_Static_assert(DEP_DELTA_RUN >= ADEPT_MAX_RECORD / 8, "a record has more than DEP_DELTA_RUN words");

#endif
