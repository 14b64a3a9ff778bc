/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counters of exits, and of the targets of indirect branches, of one thread in one interval.
 *
 * Each exit has counters, which are added to the thread and its process when the next thread or
 * interval begins.  A sequence of exits with a number has one counter, which is added to its exits
 * then.  The last targets of indirect branches are counted in a small table that needs no search; a
 * counter moves to the hash table when another one needs its place.
 */
#ifndef ADEPT_PROFILE_EXITS_H
#define ADEPT_PROFILE_EXITS_H

#include "count.h"

struct dep_exits;

/** struct dep_exits_owner - what the counters belong to; @process: serial; @thread: row in @all */
struct dep_exits_owner {
	struct dep_counts_all *all;
	struct dep_thread_count *thread;
	u32 process, interval;
};

/** dep_exits_new() - NULL: no memory; dep_exits_free() takes that, too */
struct dep_exits *dep_exits_new(const struct dep_fragments *code);
void dep_exits_free(struct dep_exits *x);

/** dep_exits_begin() - count for @o; the counters of others have been kept */
void dep_exits_begin(struct dep_exits *x, const struct dep_exits_owner *o);

/**
 * dep_exits_count() - count successive records; arguments as those of dep_fold.sequences()
 * @insns: is increased by their number of instructions
 *
 * The target of the last record's branch is not counted.
 *
 * Return: 0 or a negative errno.
 */
int dep_exits_count(struct dep_exits *x, const u32 *exit, size_t n, const u32 *sequence,
		    u64 *insns);
/** dep_exits_forget() - as dep_fold.forget(); 0 or -ENOMEM */
int dep_exits_forget(struct dep_exits *x);

/**
 * dep_exits_keep() - add the counters of exits to the owner's thread and process, and clear them
 * @pairs: do that with targets of branches, too; they belong to the process and the interval
 *
 * Return: 0 or a negative errno.
 */
int dep_exits_keep(struct dep_exits *x, bool pairs);

#endif
