/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Of dep_races_find(): what find_races.c and find_predicted.c share. */
#ifndef ADEPT_ANALYZE_FIND_RACES_H
#define ADEPT_ANALYZE_FIND_RACES_H

#include "libdep/analyze/sync/events.h"

/** races_add_predicted() - make *@r of @found, and *@w and the next one what wants its stacks */
void races_add_predicted(struct sync_events *f, struct sync_process *p,
			 const struct race_found *found, struct dep_race *r, struct sync_stack *w);

/**
 * races_predict() - add those that could have happened, and are not among @out's
 *
 * After the second pass with @f->predict.  Return: 0 or -ENOMEM.
 */
int races_predict(struct sync_events *f, struct dep_races *out, struct sync_stack **want);

#endif
