// SPDX-License-Identifier: LGPL-2.1-or-later
/* Accesses of a thread: collect them in a batch for the detector, and collect requested stacks. */
#include "predict_events.h"

/*
 * Accesses inside locks, and in code that creates threads, go to the detector but not to race
 * prediction.
 */
static int lock_access(struct sync_thread *t, u64 pc, u64 address, u64 size, u32 flags)
{
	int err = sync_flush(t);

	return err ? err : race_access(t->process->detector, t->index, pc, address,
				       size < UINT32_MAX ? (u32)size : UINT32_MAX, flags);
}

int sync_access(struct sync_thread *t, u64 pc, u64 address, u64 size, u32 flags)
{
	int err = 0;

	if (!size || t->early)
		return 0;
	if (t->sync->nwant)
		err = sync_want_stack(t->sync, t, pc, address, size);
	if (err)
		return err;
	if (t->process->future)
		sync_predict_note(t, pc, flags);
	if (t->process->future && (t->in_library || sync_in_lock(t, address)))
		return lock_access(t, pc, address, size, flags);
	t->ref[t->nrefs++] = (struct race_ref){
		.pc = pc, .address = address, .flags = flags,
		.size = size < UINT32_MAX ? (u32)size : UINT32_MAX,
	};
	return t->nrefs == SYNC_BATCH ? sync_flush(t) : 0;
}
