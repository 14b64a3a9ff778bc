// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kept_descriptors.h"
#include "libdep/abi/stream.h"

#define BATCH_ROOM	(64u << 10)	/* bytes of a batch, unless more come at once */

void dep_batch_put(struct dep_batch *batch)
{
	if (__atomic_fetch_sub(&batch->refs, 1, __ATOMIC_ACQ_REL) == 1)
		free(batch);
}

/*
 * Nothing is added to the last batch any more: free the memory that it does not use. Without this,
 * two processes whose descriptors alternate would take the room of a whole batch for each.
 */
static void close_last(struct dep_batches *b)
{
	struct dep_batch *batch = b->n ? b->row[b->n - 1] : NULL, *less;

	if (!batch || batch->room == batch->size ||
	    __atomic_load_n(&batch->refs, __ATOMIC_ACQUIRE) != 1)
		return;
	less = realloc(batch, sizeof(*batch) + batch->size);
	if (!less)
		return;
	less->room = less->size;
	b->row[b->n - 1] = less;
}

static struct dep_batch *new_batch(struct dep_batches *b, u32 process, size_t size)
{
	size_t room = size > BATCH_ROOM ? size : BATCH_ROOM, rows = b->room ? 2 * b->room : 64;
	struct dep_batch *batch, **more;

	close_last(b);
	if (b->n == b->room) {
		more = realloc(b->row, rows * sizeof(*more));
		if (!more)
			return NULL;
		b->row = more;
		b->room = rows;
	}
	batch = malloc(sizeof(*batch) + room);
	if (!batch)
		return NULL;
	*batch = (struct dep_batch){ .refs = 1, .process = process, .room = room };
	b->row[b->n++] = batch;
	__atomic_store_n(&b->bytes, b->bytes + DEP_BATCH_COST, __ATOMIC_RELAXED);
	return batch;
}

int dep_batches_add(struct dep_batches *b, u32 process, const u8 *data, size_t size)
{
	struct dep_batch *batch = b->n ? b->row[b->n - 1] : NULL;

	if (!size)
		return 0;
	if (!batch || batch->process != process || size > batch->room - batch->size ||
	    __atomic_load_n(&batch->refs, __ATOMIC_ACQUIRE) != 1)
		batch = new_batch(b, process, size);
	if (!batch)
		return -ENOMEM;
	memcpy(batch->data + batch->size, data, size);
	batch->size += size;
	__atomic_store_n(&b->bytes, b->bytes + size, __ATOMIC_RELAXED);
	return 0;
}

void dep_batches_forget(struct dep_batches *b, u32 process)
{
	size_t i, n = 0;
	u64 gone = 0;

	for (i = 0; i < b->n; i++) {
		if (b->row[i]->process != process) {
			b->row[n++] = b->row[i];
			continue;
		}
		gone += b->row[i]->size + DEP_BATCH_COST;
		dep_batch_put(b->row[i]);
	}
	b->n = n;
	__atomic_store_n(&b->bytes, b->bytes - gone, __ATOMIC_RELAXED);
}

static const struct adept_desc *desc_at(const struct dep_batch *b, size_t at)
{
	return (const void *)(b->data + at);
}

size_t dep_batch_run(const struct dep_batch *b, size_t *from)
{
	size_t at;

	while (*from < b->size && desc_at(b, *from)->type == ADEPT_DESC_FORKED)
		*from += desc_at(b, *from)->size;
	for (at = *from; at < b->size && desc_at(b, at)->type != ADEPT_DESC_FORKED;)
		at += desc_at(b, at)->size;
	return at - *from;
}

int dep_batches_share(struct dep_batches *b, struct dep_batches *copy)
{
	size_t i;

	close_last(b);
	*copy = (struct dep_batches){ .row = malloc((b->n + 1) * sizeof(*b->row)) };
	if (!copy->row)
		return -ENOMEM;
	for (i = 0; i < b->n; i++) {
		copy->row[i] = b->row[i];
		__atomic_fetch_add(&b->row[i]->refs, 1, __ATOMIC_RELAXED);
	}
	copy->n = copy->room = b->n;
	copy->bytes = b->bytes;
	return 0;
}

void dep_batches_drop(struct dep_batches *b)
{
	while (b->n)
		dep_batch_put(b->row[--b->n]);
	free(b->row);
	*b = (struct dep_batches){ 0 };
}
