/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Present the records in a ring as the columns of a segment. */
#ifndef ADEPT_FORMAT_READ_RING_PREFIX_H
#define ADEPT_FORMAT_READ_RING_PREFIX_H

#include "libdep/abi/stream.h"
#include "store.h"

/**
 * struct dep_ring_chunk - a chunk that @thread is filling; the caller owns all memory
 * @chunk: its fields fill and tail are ignored
 * @body: @size bytes, zero after the records
 * @call: NULL, or a system call in progress, to be added after the records
 */
struct dep_ring_chunk {
	u32 thread;
	const struct adept_chunk *chunk;
	const u8 *body;
	u32 size;
	const struct adept_call *call;
};

/**
 * dep_prefix_columns() - make columns of the whole records of a chunk
 * @whole: receives whether all contents of the chunk could be parsed; if not, @k->call is not added
 *
 * Return: 0, or -ENOMEM.
 */
int dep_prefix_columns(struct dep_store *s, const struct dep_ring_chunk *k, struct dep_columns *c,
		       bool *whole);

#endif
