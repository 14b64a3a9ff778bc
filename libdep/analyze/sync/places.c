// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Where threads are: positions of requested accesses and of what belongs to them. The call stacks
 * at these positions are found after the pass (libdep/analyze/race_stacks.c).
 */
#include <errno.h>

#include "hooked_functions.h"

struct sync_place sync_place_of(const struct sync_thread *t, u64 pc)
{
	struct sync_place place = { .at = t->at };

	place.at.pc = pc;
	return place;
}

static int note(struct sync_thread *t, struct sync_stack *w, u64 pc)
{
	w->found = true;
	w->thread = t->serial;
	w->tid = t->tid;
	w->image = t->image->serial;
	w->place = sync_place_of(t, pc);
	return sync_heap_note(t->image, w) ? -ENOMEM : sync_held_locks_note(t, w);
}

int sync_want_stack(struct sync_events *f, struct sync_thread *t, u64 pc, u64 address, u64 size)
{
	u64 epoch = 0;
	size_t i;
	int err = 0;

	for (i = 0; i < f->nwant && !err; i++) {
		struct sync_stack *w = &f->want[i];

		if (w->pc != pc || w->found || w->index != t->index ||
		    w->process_serial != t->process->serial ||
		    address >= w->address + w->size || w->address >= address + size)
			continue;
		if (!epoch) {
			err = sync_flush(t);
			epoch = race_epoch(t->process->detector, t->index);
		}
		if (!err && epoch >> 16 == w->epoch >> 16)
			err = note(t, w, pc);
	}
	return err;
}

void sync_note_creation(struct sync_thread *t, u32 index)
{
	struct sync_stack *w;
	size_t n;

	for (n = 0; n < t->sync->nwant; n++) {
		w = &t->sync->want[n];
		if (w->index != index || w->process_serial != t->process->serial || w->creator)
			continue;
		w->creator = t->serial;
		w->creator_tid = t->tid;
		w->birth = sync_place_of(t, 0);
	}
}
