/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Columns of what stands in a ring, as if it had been stored and read again. */
#ifndef ADEPT_FORMAT_READ_RING_PREFIX_H
#define ADEPT_FORMAT_READ_RING_PREFIX_H

#include "libdep/abi/stream.h"
#include "store.h"

/**
 * dep_prefix_columns() - the whole records of a chunk that is still being filled
 * @chunk: fill and tail are not looked at
 * @body: @size bytes, zero after the records
 * @call: NULL, or a system call to be put after them, which has not returned
 * @whole: receives whether that is all that stands there; else @call is left out
 *
 * Return: 0, or -ENOMEM.
 */
int dep_prefix_columns(struct dep_store *s, u32 thread, const struct adept_chunk *chunk,
		       const u8 *body, u32 size, const struct adept_call *call,
		       struct dep_columns *c, bool *whole);

#endif
