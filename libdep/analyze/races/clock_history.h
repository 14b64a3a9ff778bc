/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Earlier versions of a thread's clock.
 *
 * When a read saw a write that it is not ordered after, the reader gets the writer's clock as it
 * was then (detector.h, SHB). That is rare. So changes are logged, 16 bytes for each changed
 * component. From time to time, and after large changes, a point with a whole vector is added, at
 * which a search can begin.
 *
 * Only versions in which the thread wrote, and which shadow memory still contains, can be asked
 * for. race_history_rewind() removes changes of later versions before new ones are added.
 * race_history_prune() merges the changes between two versions that can be asked for: after it the
 * log has at most (such versions + 1) * (changed components) entries.
 */
#ifndef ADEPT_ANALYZE_RACES_CLOCK_HISTORY_H
#define ADEPT_ANALYZE_RACES_CLOCK_HISTORY_H

#include "clock_log.h"
#include "vector_clock.h"

/** race_history_begin() - begin with @vec, which may be NULL */
int race_history_begin(struct race_mem *m, struct race_history *h, struct race_vec *vec);
/** race_history_rewind() - remove changes after the last write; were there any? */
bool race_history_rewind(struct race_mem *m, struct race_history *h);
/**
 * race_history_flush() - end the changes that led to @vec, the clock from @version on
 * @before: number of changes before them; a point replaces many changes, or any if @whole
 */
int race_history_flush(struct race_mem *m, struct race_history *h, u32 version,
		       struct race_vec *vec, size_t before, bool whole);

/**
 * race_history_join() - join @c with the thread's vector at @version
 * @log, @at: as in race_clock_join(), for @c
 *
 * The thread's own component is not part of it.
 *
 * Return: 1 if @c changed, 0 if not, or -ENOMEM.
 */
int race_history_join(struct race_mem *m, const struct race_history *h, u32 version,
		      struct race_clock *c, struct race_history *log, u32 at);

/**
 * race_history_prune() - remove what cannot be asked for
 * @named: versions that can be asked for, ascending, in the low halves; later ones are removed
 * @scratch: a zeroed element for each thread; zeroed again on return
 */
void race_history_prune(struct race_mem *m, struct race_history *h, const u64 *named, size_t n,
			size_t *scratch);
void race_history_free(struct race_mem *m, struct race_history *h);

#endif
