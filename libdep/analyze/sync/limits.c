// SPDX-License-Identifier: LGPL-2.1-or-later
/* Limits of the analysis: no memory, and processes with too many threads. */
#include <errno.h>

#include "libdep/format/file/error.h"
#include "sync.h"

int sync_no_memory(void)
{
	return dep_fail(-ENOMEM, "cannot run the race detector");
}

void sync_too_many_threads(struct sync_events *f, struct sync_process *p)
{
	f->nover_limit += !p->too_many_threads;
	p->too_many_threads = true;
}
