// SPDX-License-Identifier: LGPL-2.1-or-later
#include <string.h>

#include "kept_now.h"
#include "trigger_queue.h"

void dep_trigger_put(struct dep_trigger_queue *q, const struct dep_kept *kept)
{
	const struct dep_kept now = dep_kept_now(kept->reason);
	struct dep_kept *k;

	if (q->n == DEP_TRIGGERS_WAITING || q->made >= q->most || q->n >= q->most - q->made) {
		q->skipped++;
		return;
	}
	k = &q->waiting[q->n++];
	*k = *kept;
	k->at_ns = now.at_ns;
	k->realtime_ns = now.realtime_ns;
}

const struct dep_kept *dep_trigger_first(const struct dep_trigger_queue *q)
{
	return q->n ? &q->waiting[0] : NULL;
}

void dep_trigger_drop(struct dep_trigger_queue *q, bool made)
{
	if (!q->n)
		return;
	if (made)
		q->made++;
	else
		q->skipped++;
	memmove(&q->waiting[0], &q->waiting[1], --q->n * sizeof(q->waiting[0]));
}
