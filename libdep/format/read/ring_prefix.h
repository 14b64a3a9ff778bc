/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Present the records in a ring as the columns of a segment. */
#ifndef ADEPT_FORMAT_READ_RING_PREFIX_H
#define ADEPT_FORMAT_READ_RING_PREFIX_H

#include "libdep/abi/stream.h"
#include "store.h"

/**
 * dep_prefix_columns() - make columns of the whole records of a chunk that is being filled
 * @chunk: its fields fill and tail are ignored
 * @body: @size bytes, zero after the records
 * @call: NULL, or a system call in progress, to be added after the records
 * @whole: receives whether the records are all that the chunk has; else @call is not added
 *
 * Return: 0, or -ENOMEM.
 */
int dep_prefix_columns(struct dep_store *s, u32 thread, const struct adept_chunk *chunk,
		       const u8 *body, u32 size, const struct adept_call *call,
		       struct dep_columns *c, bool *whole);

#endif
