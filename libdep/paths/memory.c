// SPDX-License-Identifier: LGPL-2.1-or-later
/* Arrays in one block of memory. */
#include <errno.h>

#include "memory.h"

/* Far above what the largest graph needs; keeps sums of sizes from overflowing. */
#define MOST_BYTES	((u64)1 << 40)

static u64 bytes_of(const struct dep_path_array *a)
{
	u64 bytes = dep_mul_sat(a->n, a->size);

	return bytes > MOST_BYTES ? MOST_BYTES : (bytes + 15) & ~(u64)15;
}

int dep_path_arrays(const struct dep_path_memory *m, struct dep_path_block *b,
		    const struct dep_path_array *array, unsigned int n)
{
	u64 bytes = 16;
	unsigned int i;
	u8 *at;

	for (i = 0; i < n; i++)
		bytes += bytes_of(array + i);
	if (bytes > MOST_BYTES)
		return -ENOMEM;
	at = m->get(m->self, bytes);
	if (!at)
		return -ENOMEM;
	__builtin_memset(at, 0, bytes);
	b->memory = at;
	b->bytes = bytes;
	for (i = 0; i < n; i++) {
		/* The pointers have different types: none may be stored to as a void *. */
		__builtin_memcpy(array[i].at, &at, sizeof(at));
		at += bytes_of(array + i);
	}
	return 0;
}

void dep_path_arrays_free(const struct dep_path_memory *m, struct dep_path_block *b)
{
	if (b->bytes)
		m->put(m->self, b->memory, b->bytes);
	b->memory = NULL;
	b->bytes = 0;
}
