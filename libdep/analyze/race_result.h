/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A race as users of the library get it, from what the detector found. */
#ifndef ADEPT_ANALYZE_RACE_RESULT_H
#define ADEPT_ANALYZE_RACE_RESULT_H

#include "libdep/analyze/sync/sync.h"

/** races_describe() - fill in places and flags of *@r */
void races_describe(struct sync_events *f, struct sync_process *p, const struct race_found *found,
		    struct dep_race *r);
/** races_asks_atomic() - is plain access @a to a word that is atomic by its type? */
bool races_asks_atomic(const struct sync_events *sync, const struct sync_process *p,
		       const struct race_found *f, const struct race_access *a);
/** races_fill() - fill *@r from @found, and @w[0] and @w[1] with requests for its stacks */
void races_fill(struct sync_events *f, struct sync_process *p, const struct race_found *found,
		struct dep_race *r, struct sync_stack *w);

#endif
