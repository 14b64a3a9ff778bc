// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Rings of the kernel module adept.ko (ADEPT_S_MODULE).  When a store faults in the guard after a
 * chunk, the module ends the chunk and moves the record pointer to the next chunk.  The engine is
 * not notified, so it finds the current chunk by the record pointer.
 */
#include "record.h"

/* Store a zero at ADEPT_CHUNK_END_AT from t->pp, with the application's registers. */
u64 ring_chunk_end(struct tls *t);	/* chunk_end.S */

static u64 chunk_addr(const struct tls *t, u32 index)
{
	return boot.session + adept_chunk_off(layout(), t->slot, index);
}

int module_ring(const struct tls *t)
{
	return t->ring && layout()->flags & ADEPT_S_MODULE;
}

void module_find(struct tls *t)
{
	u64 first = chunk_addr(t, 0), stride = adept_chunk_stride(layout());

	if (t->pp - t->chunk_base <= layout()->chunk_size)
		return;
	t->chunk_base = first + (t->pp - first) / stride * stride;
	t->chunk_end = t->chunk_base + layout()->chunk_size;
}

void module_next_chunk(struct tls *t, const struct adept_position *tail, u32 have)
{
	u32 index = (u32)((t->chunk_base - chunk_addr(t, 0)) / adept_chunk_stride(layout()));
	struct adept_chunk *c = &t->ring->chunk[index];
	u32 carried = (u32)(t->chunk_end - t->pp);

	c->tail = *tail;
	c->tail_at = (u32)(t->pp - t->chunk_base);
	c->fill = c->tail_at + (tail->frag ? have : 0);
	t->app_r15 = t->regs[X86_R15];
	t->spill[1] = t->regs[X86_RSP];
	t->pp = ring_chunk_end(t);
	module_find(t);
	/*
	 * The module has copied the unfinished record to the new chunk.  Clear this copy: the tail
	 * position of the old chunk already describes the record.
	 */
	memset((void *)t->pp, 0, carried);
}

int module_begin(struct tls *t)
{
	u64 at = chunk_addr(t, 0);

	t->chunk_base = t->pp = at;
	t->chunk_end = at + layout()->chunk_size;
	/* The access fails if the kernel module has no memory or a limit is reached. */
	return rt_copy_in((void *)at, &(u8){ 0 }, 1) == 1;
}
