// SPDX-License-Identifier: LGPL-2.1-or-later
#include <string.h>
#include <time.h>

#include "trigger_queue.h"

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void dep_trigger_put(struct dep_trigger_queue *q, const struct dep_kept *kept)
{
	struct dep_kept *k;

	if (q->n == DEP_TRIGGERS_WAITING || q->made >= q->most || q->n >= q->most - q->made) {
		q->skipped++;
		return;
	}
	k = &q->waiting[q->n++];
	*k = *kept;
	k->at_ns = clock_ns(CLOCK_MONOTONIC);
	k->realtime_ns = clock_ns(CLOCK_REALTIME);
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
