// SPDX-License-Identifier: LGPL-2.1-or-later
/* The hash table of a process's allocated heap blocks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hooked_functions.h"

#define GONE	1u	/* sync_block.address of a deleted entry; 0: an entry that was never used */

static struct sync_block *slot_of(const struct sync_heap *h, u64 address, bool free_too)
{
	struct sync_block *free_one = NULL;
	u32 i = (u32)(address * 0x9e3779b97f4a7c15ull >> 32) & (h->room - 1);

	for (; h->block[i].address && h->block[i].address != address; i = (i + 1) & (h->room - 1))
		if (free_too && !free_one && h->block[i].address == GONE)
			free_one = &h->block[i];
	return h->block[i].address != address && free_one ? free_one : &h->block[i];
}

static int grow(struct sync_heap *h)
{
	struct sync_heap old = *h;
	u32 i;

	h->room = !old.room ? 1024 : old.n > old.room / 4 ? 2 * old.room : old.room;
	h->block = calloc(h->room, sizeof(*h->block));
	if (!h->block) {
		*h = old;
		return sync_no_memory();
	}
	h->used = h->n;
	for (i = 0; i < old.room; i++)
		if (old.block[i].address > GONE)
			*slot_of(h, old.block[i].address, false) = old.block[i];
	free(old.block);
	return 0;
}

static struct sync_origin *origin_of(const struct sync_thread *t, const struct sync_frame *f)
{
	struct sync_origin *o = malloc(sizeof(*o));

	if (o)
		*o = (struct sync_origin){
			.serial = t->serial, .tid = t->tid, .place = { .at = f->at },
		};
	return o;
}

int sync_heap_add(struct sync_thread *t, const struct sync_frame *f, u64 address, u64 size)
{
	struct sync_heap *h = &t->image->heap;
	struct sync_block *b;

	if (h->used >= h->room / 2 && grow(h))
		return -ENOMEM;
	b = slot_of(h, address, true);
	h->used += !b->address;
	h->n += b->address != address;
	free(b->origin);
	*b = (struct sync_block){ .address = address, .size = size };
	if (!t->sync->nwant)
		return 0;
	b->origin = origin_of(t, f);
	return b->origin ? 0 : sync_no_memory();
}

struct sync_block *sync_heap_find(const struct sync_heap *h, u64 address)
{
	struct sync_block *b = h->room && address > GONE ? slot_of(h, address, false) : NULL;

	return b && b->address == address ? b : NULL;
}

void sync_heap_remove(struct sync_heap *h, struct sync_block *b)
{
	free(b->origin);
	*b = (struct sync_block){ .address = GONE };
	h->n--;
}

int sync_heap_note(const struct sync_image *m, struct sync_stack *w)
{
	const struct sync_heap *h = &m->heap;
	const struct sync_block *b;
	u32 i;

	for (i = 0; i < h->room; i++) {
		b = &h->block[i];
		if (b->address <= GONE || w->address - b->address >= b->size)
			continue;
		w->origin = malloc(sizeof(*w->origin));
		if (!w->origin)
			return sync_no_memory();
		*w->origin = *b->origin;
		w->block = sync_address_of(m, b->address);
		w->block_size = b->size;
		break;
	}
	return 0;
}

void sync_heap_free(struct sync_heap *h)
{
	u32 i;

	for (i = 0; i < h->room; i++)
		free(h->block[i].origin);
	free(h->block);
	memset(h, 0, sizeof(*h));
}
