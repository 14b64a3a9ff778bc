// SPDX-License-Identifier: LGPL-2.1-or-later
/* The collector's backlog: chunks that are published and not stored yet. */
#include "chunk_end.h"
#include "internal.h"

static u32 published(struct dep_collector *c, u32 slot, u64 *bytes)
{
	struct thread_slot *t = &c->threads[slot];
	u32 size = c->s->layout.chunk_size, given = load(&t->given), head = t->head, i, fill;

	if (head - given > c->s->layout.nchunks)
		return 0;
	for (i = given; i != head; i++) {
		fill = load(&dep_session_thread(c->s, slot)->chunk[i % c->s->layout.nchunks].fill);
		*bytes += fill < size ? fill : size;
	}
	return head - given;
}

void dep_collector_lag(struct dep_collector *c, u64 *chunks, u64 *bytes, u64 *waiting)
{
	struct dep_ring_state s;
	u32 i, slot;

	*chunks = *bytes = *waiting = 0;
	for (i = 0; i < c->nused; i++) {
		slot = c->used[i];
		if (!c->threads[slot].open)
			continue;
		if (c->s->module) {
			dep_module_state(c->s->module, slot, &s);
			*chunks += s.filled + s.taken;
			*bytes += (u64)(s.filled + s.taken) * c->s->layout.chunk_size;
			*waiting += s.waiting;
		} else {
			*chunks += published(c, slot, bytes);
			*waiting += load(&dep_session_thread(c->s, slot)->tail_waits) != 0;
		}
	}
}
