// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "kept_chunk.h"
#include "window_files.h"

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

struct dep_kept_chunk *dep_kept_in_file(struct dep_window_file *file)
{
	struct dep_kept_chunk *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->refs = 1;
	k->file = file;
	dep_window_file_get(file);
	return k;
}

int dep_kept_enlarge(struct dep_body_buffer *b, size_t size)
{
	if (b->room >= size)
		return 0;
	free(b->data);
	b->data = malloc(size);
	b->room = b->data ? size : 0;
	return b->data ? 0 : -ENOMEM;
}

int dep_kept_body(const struct dep_kept_chunk *k, struct dep_body_buffer *b, const u8 **body)
{
	int err;

	*body = k->body;
	if (!k->file)
		return 0;
	/* Not 0 bytes, and whole words, as in a ring. */
	err = dep_kept_enlarge(b, ((size_t)k->chunk.fill + 15) & ~(size_t)7);
	if (!err)
		err = dep_window_file_read(k, b->data);
	*body = b->data;
	return err;
}

void dep_kept_free(struct dep_kept_chunk *k)
{
	if (k->file)
		dep_window_file_put(k->file);
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
