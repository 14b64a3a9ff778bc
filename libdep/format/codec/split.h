/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Split a chunk's body into the control column and the value column's two streams (delta.h). */
#ifndef ADEPT_FORMAT_CODEC_SPLIT_H
#define ADEPT_FORMAT_CODEC_SPLIT_H

#include "delta.h"
#include "exit_index.h"

/**
 * struct dep_split - parameters, buffers and results of a split
 *
 * Sizes of the buffers: @control DEP_SPLIT_ROOM(size), @lens DEP_SPLIT_ROOM(size / 8), @bytes
 * DEP_SPLIT_ROOM(size), for a body of size bytes.  All are NULL to parse only.
 */
struct dep_split {
	const struct dep_index *x;
	u32 limit;		/* exits of fragments with this or a higher number are unknown */
	u8 *control, *lens, *bytes;
	u64 *slot;		/* DEP_DELTA_SLOTS previous values (delta.h) */
	/* The following fields are results of dep_split(). */
	u32 control_size;	/* bytes written to @control */
	u32 values;		/* number of 64-bit values encoded to @lens and @bytes */
	u32 bytes_size;
	u32 parsed;		/* number of bytes of the body that were parsed */
};

#define DEP_SPLIT_ROOM(n)	((n) + 64ul)

/** dep_split() - parse @body up to the first position without a whole record or event */
void dep_split(struct dep_split *s, const u8 *body, u32 size);

/**
 * dep_split_frags() - mark the fragments that whole records and events of @body name
 * @from, @n: numbers of the fragments of interest
 * @bits: the bit of each of them, which is set if it is named
 */
void dep_split_frags(const struct dep_index *x, const u8 *body, u32 size, u32 from, u32 n,
		     u8 *bits);

/** dep_split_tail() - encode @words values of the unfinished record that ends the body */
void dep_split_tail(struct dep_split *s, const u8 *from, u32 words);

#endif
