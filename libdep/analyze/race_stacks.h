/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Call stacks of races. */
#ifndef ADEPT_ANALYZE_RACE_STACKS_H
#define ADEPT_ANALYZE_RACE_STACKS_H

#include "libdep/analyze/sync/sync.h"

/** races_find_stacks() - set the frames of all places of @n requests; 0 or an error */
int races_find_stacks(const struct sync_events *f, struct sync_stack *want, size_t n);
/** races_free_stack() - free what a request refers to */
void races_free_stack(struct sync_stack *w);

#endif
