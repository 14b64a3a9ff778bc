// SPDX-License-Identifier: LGPL-2.1-or-later
/* Call stacks at which requested threads were created. */
#include <stdlib.h>

#include "sync.h"

int sync_note_creation(struct sync_thread *t, u32 index)
{
	struct sync_stack *w;
	size_t n;
	u32 i;

	for (n = 0; n < t->sync->nwant; n++) {
		w = &t->sync->want[n];
		if (w->index != index || w->process_serial != t->process->serial || w->creator)
			continue;
		w->birth = malloc((t->depth + 1) * sizeof(*w->birth));
		if (!w->birth)
			return sync_no_memory();
		w->creator = t->serial;
		w->creator_tid = t->tid;
		for (i = t->depth; i--;)
			w->birth[w->nbirth++] = t->stack[i].pc;
	}
	return 0;
}
