/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Make a struct dep_race, the result of the library, from a race that the detector found. */
#ifndef ADEPT_ANALYZE_RACE_RESULT_H
#define ADEPT_ANALYZE_RACE_RESULT_H

#include "libdep/analyze/sync/sync.h"

/** races_describe() - set process, address, code addresses and flags of *@r */
void races_describe(struct sync_events *f, struct sync_process *p, const struct race_found *found,
		    struct dep_race *r);
/** races_asks_atomic() - is @a a plain access to a word whose type is atomic? */
bool races_asks_atomic(const struct sync_events *sync, const struct sync_process *p,
		       const struct race_found *f, const struct race_access *a);
/** races_fill() - fill *@r from @found; request call stacks of both accesses in @w[0] and @w[1] */
void races_fill(struct sync_events *f, struct sync_process *p, const struct race_found *found,
		struct dep_race *r, struct sync_stack *w);

#endif
