// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdlib.h>
#include <sys/mman.h>

#include "kept_chunk.h"

#define MAP_LEAST	(64u << 10)	/* larger chunks are mapped: freeing returns their memory */

size_t dep_kept_memory(u32 fill)
{
	size_t size = sizeof(struct dep_kept_chunk) + fill;

	return size < MAP_LEAST ? size : (size + 4095) & ~(size_t)4095;
}

struct dep_kept_chunk *dep_kept_new(size_t size)
{
	struct dep_kept_chunk *k;

	if (size < MAP_LEAST) {
		k = malloc(size);
	} else {
		k = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (k == MAP_FAILED)
			k = NULL;
	}
	if (k)
		*k = (struct dep_kept_chunk){
			.size = size, .refs = 1, .mapped = size >= MAP_LEAST,
		};
	return k;
}

void dep_kept_free(struct dep_kept_chunk *k)
{
	if (k->mapped)
		munmap(k, k->size);
	else
		free(k);
}

void dep_kept_put(struct dep_kept_chunk *k)
{
	if (dep_kept_last(k))
		dep_kept_free(k);
}

void dep_kept_put_list(struct dep_kept_chunk *k)
{
	struct dep_kept_chunk *next;

	for (; k; k = next) {
		next = k->next;
		dep_kept_put(k);
	}
}
