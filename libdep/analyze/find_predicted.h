/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by find_races.c and find_predicted.c. */
#ifndef ADEPT_ANALYZE_FIND_RACES_H
#define ADEPT_ANALYZE_FIND_RACES_H

#include "libdep/analyze/sync/events.h"

/**
 * races_add_predicted() - fill *@r from @found, and @w[0] and @w[1] with requests for its stacks
 */
void races_add_predicted(struct sync_events *f, struct sync_process *p,
			 const struct race_found *found, struct dep_race *r, struct sync_stack *w);

/**
 * races_predict() - add predicted races of places that are not in @out
 *
 * Call it after the second pass with @f->predict. Return: 0 or -ENOMEM.
 */
int races_predict(struct sync_events *f, struct dep_races *out, struct sync_stack **want);

#endif
