// SPDX-License-Identifier: LGPL-2.1-or-later
/* Where wanted accesses were called from. */
#include <errno.h>
#include <stdlib.h>

#include "functions.h"

int order_note_call(struct order_thread *t, const struct dep_call *c)
{
	u32 room;
	void *more;

	/* Frames that a longjmp, an exception or a return left behind. */
	while (t->depth && t->stack[t->depth - 1].sp < c->sp + (c->is_return ? 0 : 1))
		t->depth--;
	if (c->is_return)
		return 0;
	if (t->depth == t->stack_room) {
		room = t->stack_room ? t->stack_room * 2 : 64;
		more = realloc(t->stack, room * sizeof(*t->stack));
		if (!more)
			return order_no_memory();
		t->stack = more;
		t->stack_room = room;
	}
	t->stack[t->depth].pc = c->pc;
	t->stack[t->depth++].sp = c->sp;
	return 0;
}

static int keep_stack(struct order_thread *t, struct order_stack *w)
{
	u32 i;

	w->found = true;
	w->thread = t->serial;
	w->tid = t->tid;
	w->frame = malloc((t->depth + 1) * sizeof(*w->frame));
	if (!w->frame)
		return order_no_memory();
	for (i = t->depth; i--;)
		w->frame[w->nframes++] = t->stack[i].pc;
	return order_heap_note(t->image, w) ? -ENOMEM : order_held_note(t, w);
}

int order_look_for(struct order_feed *f, struct order_thread *t, u64 pc, u64 address, u64 size)
{
	u64 epoch = 0;
	size_t i;
	int err = 0;

	for (i = 0; i < f->nwant && !err; i++) {
		struct order_stack *w = &f->want[i];

		if (w->pc != pc || w->found || w->index != t->index ||
		    w->process_serial != t->process->serial ||
		    address >= w->address + w->size || w->address >= address + size)
			continue;
		if (!epoch) {
			err = order_flush(t);
			epoch = race_epoch(t->process->detector, t->index);
		}
		if (!err && epoch >> 16 == w->epoch >> 16)
			err = keep_stack(t, w);
	}
	return err;
}
