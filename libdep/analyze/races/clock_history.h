/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Earlier versions of a thread's clock.
 *
 * When a read got the value of a write that it is not ordered after, the reader's clock is joined
 * with the writer's clock at that write (SHB, see detector.h). That is rare, so only changes are
 * logged, 16 bytes for each changed component. From time to time, and after large changes, a point
 * with a whole vector is added, at which a lookup can begin.
 *
 * Only versions in which the thread wrote, and which shadow memory still contains, can be looked
 * up. race_history_rewind() removes changes of later versions before new ones are added.
 * race_history_prune() merges the changes between two versions that can be looked up: then the log
 * has at most (number of such versions + 1) * (number of changed components) entries.
 */
#ifndef ADEPT_ANALYZE_RACES_CLOCK_HISTORY_H
#define ADEPT_ANALYZE_RACES_CLOCK_HISTORY_H

#include "clock_log.h"
#include "vector_clock.h"

/** race_history_begin() - begin with the vector @vec, which may be NULL */
int race_history_begin(struct race_mem *m, struct race_history *h, struct race_vec *vec);
/** race_history_rewind() - remove changes made since the thread's last write; were there any? */
bool race_history_rewind(struct race_mem *m, struct race_history *h);
/**
 * race_history_flush() - complete the changes that led to @vec, the vector from @version on
 * @before: number of changes in the log before them
 * @whole: add a point (a copy of @vec) in any case; otherwise only after many changes
 *
 * Return: 0 or -ENOMEM.
 */
int race_history_flush(struct race_mem *m, struct race_history *h, u32 version,
		       struct race_vec *vec, size_t before, bool whole);

/**
 * race_history_join() - join @c with the vector that the thread of @h had at @version
 * @log: history of the thread of @c, which receives the changes
 * @at: version of these changes
 *
 * The own component of the thread of @h is not joined.
 *
 * Return: 1 if @c changed, 0 if not, or -ENOMEM.
 */
int race_history_join(struct race_mem *m, const struct race_history *h, u32 version,
		      struct race_clock *c, struct race_history *log, u32 at);

/**
 * race_history_prune() - remove everything that no lookup needs
 * @named: the versions that can be looked up, ascending, in the low 32 bits of the elements; later
 *	versions are removed
 * @scratch: a zeroed element for each thread; zeroed again on return
 */
void race_history_prune(struct race_mem *m, struct race_history *h, const u64 *named, size_t n,
			size_t *scratch);
void race_history_free(struct race_mem *m, struct race_history *h);

#endif
