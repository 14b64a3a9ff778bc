// SPDX-License-Identifier: LGPL-2.1-or-later
#include "predict_events.h"

int sync_flush(struct sync_thread *t)
{
	u32 n = t->nrefs;

	t->nrefs = 0;
	if (t->process->future)
		return sync_predict_flush(t, n);
	return n ? race_accesses(t->process->detector, t->index, t->ref, n) : 0;
}
