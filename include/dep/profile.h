/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Profiles: how often each instruction and each branch was executed, exactly.
 *
 * Rows are keyed by the address of the code and the process that executed it.
 */
#ifndef DEP_PROFILE_H
#define DEP_PROFILE_H

#include <stdbool.h>

#include "fold.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/** struct dep_insn_count - how often an instruction was executed */
struct dep_insn_count {
	uint64_t pc, count;
	uint32_t process;	/* serial of the process that executed it */
	uint32_t image;		/* 1 + index in dep_store_modules() of the file with @pc; 0: none */
	uint8_t size;		/* bytes */
	uint8_t refs;		/* number of memory operands; a string instruction counts once */
	uint8_t branch;		/* enum dep_branch */
	uint8_t pad;
	uint32_t fragment;	/* index of a fragment that has it, for its bytes */
};

/* Values of dep_edge_count.kind beyond enum dep_branch. */
#define DEP_EDGE_ENTERED	16u	/* @from is 0: thread start, signal handler, behind a gap */
/* @to is 0: control left before instruction @from was executed: signal, end, gap */
#define DEP_EDGE_LEFT		17u

/**
 * struct dep_edge_count - how often control went from the branch @from to @to
 *
 * Instructions that are no branch go on to the next one and have no row.  So an instruction's count
 * is the sum of all edges to it, and of the count of the instruction in front of it if that is no
 * branch, less the rows DEP_EDGE_LEFT at it: these were about to execute it.
 */
struct dep_edge_count {
	uint64_t from, to, count;
	uint32_t process;	/* as in struct dep_insn_count */
	uint32_t image, to_image;	/* files with @from and @to */
	uint8_t kind;		/* enum dep_branch, DEP_EDGE_* */
	uint8_t taken;		/* with DEP_BRANCH_COND: 0: @to is the next instruction */
	uint8_t pad[2];
};

/** struct dep_thread_count - totals of a thread */
struct dep_thread_count {
	uint32_t thread;	/* serial */
	uint32_t pad;
	uint64_t insns, refs, records, calls, returns, syscalls, signals;
};

/** struct dep_time_count - totals of a segment; sorted by start_ns */
struct dep_time_count {
	uint32_t thread, pad;
	/* CLOCK_MONOTONIC; it ends where the thread's next segment begins */
	uint64_t start_ns, end_ns;
	uint64_t insns;
};

/**
 * struct dep_profile - counts of a recording, or of a part of it
 *
 * Rows of @insn are sorted by process, image, pc; those of @edge by process, image, from, to, kind.
 */
struct dep_profile {
	const struct dep_insn_count *insn;
	const struct dep_edge_count *edge;
	const struct dep_thread_count *thread;
	const struct dep_time_count *time;
	size_t ninsns, nedges, nthreads, ntimes;
	uint64_t insns, refs;		/* executed in total */
	struct dep_fold_loss loss;
};

/**
 * dep_profile_make() - count the instructions and branches of @store
 * @options: NULL: the defaults
 *
 * The result does not depend on the number of workers.
 *
 * Return: 0 or a negative errno with dep_error().
 */
int dep_profile_make(struct dep_store *store, const struct dep_fragments *code,
		     const struct dep_fold_options *options, struct dep_profile **out);

/**
 * dep_profile_make_kept() - the same, and quick if it was done before
 *
 * The counters of a whole recording that has ended are kept in the file profile.counts of the
 * store, if it belongs to the caller.  They are read again if nothing has changed since.  If
 * @options select a part, nothing is kept, and nothing is read.
 */
int dep_profile_make_kept(struct dep_store *store, const struct dep_fragments *code,
			  const struct dep_fold_options *options, struct dep_profile **out);
void dep_profile_free(struct dep_profile *p);

/* ---- profiles of a recording that is running ---- */

struct dep_profile_follow;

/**
 * dep_profile_follow_new() - begin to count in a store that is being written
 * @store: opened by dep_store_open_growing(); it must stay open until dep_profile_follow_free()
 * @options: NULL: the defaults; copied.  failed() is called again at each look for the same segment
 *
 * The recorded programs and their recorder are not touched: only files of the store are read.
 *
 * Return: 0 or a negative errno with dep_error().
 */
int dep_profile_follow_new(struct dep_store *store, const struct dep_fold_options *options,
			   struct dep_profile_follow **out);
void dep_profile_follow_free(struct dep_profile_follow *f);

/**
 * dep_profile_follow_more() - read and count what has been added to the store
 * @over: the store will not be written to any more.  It is complete afterwards, as if it had been
 *	opened by dep_store_open(), and further calls do nothing
 *
 * Each segment is read once, as soon as the next one of its thread is stored.  All of them are read
 * again only if the store turns out to be damaged.  Rows of the store's tables can move.
 *
 * Return: 0 or a negative errno with dep_error(); then only dep_profile_follow_free() may follow.
 * -EOPNOTSUPP: the recorder drops the oldest parts of the recording.  -ESTALE: the segments of the
 * store are out of order, which only dep_profile_make() can count.
 */
int dep_profile_follow_more(struct dep_profile_follow *f, bool over);

/**
 * dep_profile_follow_rows() - the profile of what dep_profile_follow_more() has found up to now
 *
 * It has the rows of dep_profile_make() for the store as it was then, whenever
 * dep_profile_follow_more() was called before.  dep_profile_free() frees it.
 *
 * Return: 0 or a negative errno with dep_error().
 */
int dep_profile_follow_rows(struct dep_profile_follow *f, struct dep_profile **out);

/** dep_profile_follow_code() - the fragments that rows refer to; they belong to @f */
const struct dep_fragments *dep_profile_follow_code(const struct dep_profile_follow *f);

/* ---- profiles of intervals of time ---- */

/**
 * struct dep_interval - an interval of the recording's time
 * @start_ns, @end_ns: CLOCK_MONOTONIC; @profile has the segments that begin in [start_ns, end_ns)
 * @profile: its rows, without those of threads; @loss is 0
 */
struct dep_interval {
	uint64_t start_ns, end_ns;
	const struct dep_profile *profile;
};

struct dep_intervals;

/**
 * dep_intervals_make() - count in one pass what was executed in each interval of @per_ns
 * @options: NULL: the defaults
 *
 * The first interval begins with the recording.  A segment counts as a whole in the interval in
 * which it begins, so the counts of all intervals add up to those of dep_profile_make(), row by
 * row.  An edge counts with its branch; what it enters can count in the next interval.
 *
 * Return: 0 or a negative errno with dep_error(); -ERANGE: there would be more than
 * DEP_INTERVALS_MAX, and dep_error() names the smallest interval possible.
 */
int dep_intervals_make(struct dep_store *store, const struct dep_fragments *code,
		       const struct dep_fold_options *options, uint64_t per_ns,
		       struct dep_intervals **out);
void dep_intervals_free(struct dep_intervals *iv);

/** dep_intervals_whole() - the profile of all intervals together; it belongs to @iv */
const struct dep_profile *dep_intervals_whole(const struct dep_intervals *iv);

/**
 * dep_intervals_next() - the next interval in which a segment begins
 * @out: valid until the next call
 *
 * In memory are the rows of this interval and those of dep_intervals_whole().
 *
 * Return: 1; 0: there is none left; or a negative errno with dep_error().
 */
int dep_intervals_next(struct dep_intervals *iv, struct dep_interval *out);

/* ---- code ---- */

/**
 * dep_insn_bytes() - the bytes of the instruction at @pc of fragment @fragment
 * @out: room for 15 bytes
 *
 * Return: the number of bytes; 0: the fragment has no such instruction.
 */
size_t dep_insn_bytes(struct dep_store *store, uint32_t fragment, uint64_t pc, void *out);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
