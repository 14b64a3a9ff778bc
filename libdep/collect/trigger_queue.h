/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Triggers that were met and wait for their snapshot, since there is one snapshot at a time. No
 * allocation, no I/O.
 */
#ifndef ADEPT_COLLECT_TRIGGER_QUEUE_H
#define ADEPT_COLLECT_TRIGGER_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include <dep/store.h>

#define DEP_TRIGGERS_WAITING	8u	/* most triggers that wait */

/** struct dep_trigger_queue - the triggers of one recording; zero, but for @most */
struct dep_trigger_queue {
	uint32_t most;		/* most snapshots that triggers make */
	uint32_t made;		/* snapshots begun for triggers */
	uint64_t skipped;	/* triggers for which no snapshot is made */
	uint32_t n;
	struct dep_kept waiting[DEP_TRIGGERS_WAITING];	/* oldest first */
};

/**
 * dep_trigger_put() - a trigger was met now
 * @kept: its reason; the times in it are set
 *
 * Counts it as skipped if too many wait, or if enough snapshots were made.
 */
void dep_trigger_put(struct dep_trigger_queue *q, const struct dep_kept *kept);
/** dep_trigger_first() - the trigger that has waited longest; NULL: none waits */
const struct dep_kept *dep_trigger_first(const struct dep_trigger_queue *q);
/** dep_trigger_drop() - remove the first; @made: its snapshot was begun, or else it is skipped */
void dep_trigger_drop(struct dep_trigger_queue *q, bool made);

#endif
