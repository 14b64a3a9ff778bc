/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a thread's clock was at an earlier version of it.
 *
 * Needed where a read saw a write that it is not ordered after: the reader gets the
 * writer's clock as it was then (detector.h, SHB).  That is rare, so there is a log of
 * changes, 16 bytes for each component that changed, with a vector every so often, or
 * where very much changed, that the search begins at.
 *
 * Only versions can be asked for in which the thread wrote and which shadow memory still
 * names.  race_history_rewind() takes away what is of no such version before more comes;
 * race_history_prune() merges the changes between two of them, so that after it a thread's
 * log has at most (versions named + 1) * (components that changed) entries.
 */
#ifndef ADEPT_ANALYZE_RACES_CLOCK_HISTORY_H
#define ADEPT_ANALYZE_RACES_CLOCK_HISTORY_H

#include "vector_clock.h"

struct race_change {
	u32 version;		/* the first one that has it */
	u32 thread;
	u64 value;
};

struct race_point {
	size_t at;		/* index of the first change that is not in @vec */
	struct race_vec *vec;
	u32 version;
};

/** struct race_history - one thread's; @written: the last version in which it wrote */
struct race_history {
	u32 written;
	struct race_change *change;
	size_t n, room;
	struct race_point *point;
	size_t npoints, point_room;
};

/** race_history_begin() - the thread begins with @vec, which may be NULL */
int race_history_begin(struct race_mem *m, struct race_history *h, struct race_vec *vec);
/** race_history_add() - from @version on, which is not less than before, a component is @value */
int race_history_add(struct race_mem *m, struct race_history *h, u32 version, u32 thread,
		     u64 value);
/** race_history_rewind() - forget what came after the last write; was there anything? */
bool race_history_rewind(struct race_mem *m, struct race_history *h);
/**
 * race_history_flush() - from @version on the clock is @vec
 * @before: changes there were before; if many came, or @whole, the vector stands for them
 */
int race_history_flush(struct race_mem *m, struct race_history *h, u32 version,
		       struct race_vec *vec, size_t before, bool whole);

/**
 * race_history_join() - @c learns what the thread's vector was at @version
 * @log, @at: as in race_clock_join(), for @c
 *
 * The thread's own component is not part of it.
 *
 * Return: 1 if @c changed, 0 if not, or -ENOMEM.
 */
int race_history_join(struct race_mem *m, const struct race_history *h, u32 version,
		      struct race_clock *c, struct race_history *log, u32 at);

/**
 * race_history_prune() - forget what nobody can ask for
 * @named: the versions that may be asked for, ascending, in the low halves; what is after
 *	the last one is forgotten
 * @scratch: a word for each thread there is, zeroed; zeroed again afterwards
 */
void race_history_prune(struct race_mem *m, struct race_history *h, const u64 *named, size_t n,
			size_t *scratch);
void race_history_free(struct race_mem *m, struct race_history *h);

#endif
