/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calling contexts: which chain of calls executed how many instructions, exactly.
 *
 * The contexts of a recording form a tree.  A context is a function that was entered from a call
 * site of its parent context.  A thread goes on from the context that created it, and a forked
 * child from its parent's.
 */
#ifndef DEP_CONTEXTS_H
#define DEP_CONTEXTS_H

#include "profile.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct dep_symbols;

/* How a context was entered. */
enum dep_context_kind {
	/* context 0: no function.  It ran only what is executed while the tree has no room */
	DEP_CONTEXT_ROOT,
	/* the first code of a program, or what ran behind a gap or an attach */
	DEP_CONTEXT_START,
	DEP_CONTEXT_CALL,	/* @site is a call */
	DEP_CONTEXT_TAIL,	/* @site is a jump to the entry of another function */
	DEP_CONTEXT_SIGNAL,	/* a signal handler; @site is the interrupted instruction */
	DEP_CONTEXT_THREAD,	/* a thread's first function; @site is the instruction of clone() */
	DEP_CONTEXT_KINDS
};

/** struct dep_context - a node of the tree */
struct dep_context {
	uint32_t parent;	/* index, smaller than that of this context */
	uint8_t kind;		/* enum dep_context_kind */
	/* callers may be missing: it began behind a gap or an attach, or frames are unknown */
	uint8_t incomplete;
	/*
	 * Its function had been called before an attach, and was found on the stack by frame
	 * pointers or by a search, not by unwind tables: it may be wrong.
	 */
	uint8_t guess;
	uint8_t pad;
	uint32_t process;	/* serial of the process that executed it */
	/* files with @pc and @site: 1 + index in dep_store_modules(); 0: none */
	uint32_t image, site_image;
	uint32_t pad2;
	uint64_t pc;		/* first instruction of the function */
	uint64_t site;		/* 0: none */
	uint64_t calls;		/* times it was entered; those before an attach do not count */
	uint64_t insns, refs;	/* executed in it, without those of its children */
};

/** struct dep_context_share - what one thread did in a context; sorted by thread, context */
struct dep_context_share {
	uint32_t thread, context;
	uint64_t calls, insns, refs;
};

/** struct dep_context_time - instructions of a context in one segment; sorted by time, context */
struct dep_context_time {
	uint64_t start_ns;	/* of the segment */
	uint32_t thread, context;
	uint64_t insns;
};

/**
 * struct dep_context_interval - what all threads did in a context in an interval of time; sorted by
 *	time, context
 * @start_ns: when the interval begins.  A segment counts as a whole where it begins
 */
struct dep_context_interval {
	uint64_t start_ns;
	uint32_t context, pad;
	uint64_t calls, insns, refs;
};

/** struct dep_contexts - the tree; rows of a parent's children are sorted by process, site, pc */
struct dep_contexts {
	const struct dep_context *context;
	const struct dep_context_share *share;
	const struct dep_context_time *time;	/* only with dep_contexts_options.times */
	size_t ncontexts, nshares, ntimes;
	uint64_t unknown_returns;	/* returns whose frame was not found */
	uint64_t recovered;		/* segments that were recovered to learn stack pointers */
	uint64_t not_counted;		/* calls that did not fit in the memory allowed */
	struct dep_fold_loss loss;
	const struct dep_context_interval *interval;	/* with dep_contexts_options.per_ns */
	size_t nintervals;
};

struct dep_contexts_options {
	struct dep_fold_options fold;
	bool times;		/* make rows of struct dep_context_time */
	/* Finds the callers of threads that were attached to; NULL: these are missing. */
	struct dep_symbols *symbols;
	uint64_t memory;	/* bytes for the tree; 0: a default */
	/*
	 * Counts of the whole store.  They save the pass that finds entries of functions, and
	 * change nothing else.  NULL: none.
	 */
	const struct dep_profile *counts;
	/*
	 * Length of an interval: make rows of struct dep_context_interval.  The first interval
	 * begins with the recording, as in dep_intervals_make().  0: no rows.
	 */
	uint64_t per_ns;
};

/**
 * dep_contexts_make() - find the calling context of all that @store's threads executed
 * @options: NULL: the defaults
 *
 * The rows of all intervals add up to the contexts.
 *
 * Return: 0 or a negative errno with dep_error(); -ERANGE: there would be more than
 * DEP_INTERVALS_MAX intervals, and dep_error() names the smallest interval possible.
 */
int dep_contexts_make(struct dep_store *store, const struct dep_fragments *code,
		      const struct dep_contexts_options *options, struct dep_contexts **out);

/**
 * dep_contexts_make_kept() - the same, and quick if it was done before
 *
 * The contexts of a whole recording that has ended are kept in the file profile.contexts of the
 * store, if it belongs to the caller.  They are read again if nothing has changed since.  If
 * @options select a part or ask for intervals, nothing is kept, nor if a thread was attached to:
 * its callers depend on @options->symbols.  With less memory than by default nothing is written.
 */
int dep_contexts_make_kept(struct dep_store *store, const struct dep_fragments *code,
			   const struct dep_contexts_options *options, struct dep_contexts **out);
void dep_contexts_free(struct dep_contexts *c);

/**
 * struct dep_position - a position in the execution of a thread
 * @segment: index in dep_store_segments()
 * @branches: calls, returns and unconditional jumps of the segment before the position: items of
 *	kind DEP_ITEM_CALL, with DEP_WANT_CALLS and DEP_WANT_JUMPS
 * @signals: events ADEPT_EV_SIGNAL and ADEPT_EV_SIGRETURN of the segment before the position
 * @pc: of an instruction that is executed there, before the next of these; 0: the first one
 */
struct dep_position {
	uint32_t segment, branches, signals, pad;
	uint64_t pc;
};

/**
 * struct dep_call_frame - how an activation was entered
 * @kind: DEP_CONTEXT_CALL, DEP_CONTEXT_TAIL or DEP_CONTEXT_SIGNAL
 * @site: the call or jump, or the instruction that the signal interrupted
 * @pc: first instruction of the function that was entered
 */
struct dep_call_frame {
	uint64_t site, pc;
	uint8_t kind, pad[7];
};

/** struct dep_call_stack - the stack at a position, innermost frame first */
struct dep_call_stack {
	const struct dep_call_frame *frame;
	size_t n;
	bool found;		/* false: position not reached, its segment may be damaged */
	/* callers may be missing, as with dep_context.incomplete, or there was too little memory */
	bool incomplete;
};

/** struct dep_call_stacks - stacks at positions, in the order of these */
struct dep_call_stacks {
	struct dep_call_stack *stack;
	size_t n;
	/* The following are private. */
	void **own;
	size_t nown;
};

/** struct dep_contexts_at_options - every member may be zero or NULL */
struct dep_contexts_at_options {
	struct dep_symbols *symbols;	/* as in struct dep_contexts_options */
	unsigned int jobs;	/* workers that find entries of functions, 0 = one per processor */
	uint64_t memory;	/* as in struct dep_contexts_options */
	/*
	 * Return true if the jump at @from in code of @process goes to another function, at @to.
	 * NULL: only what is also called, or jumped to through a pointer, is a function.
	 */
	bool (*leaves)(void *arg, uint32_t process, uint64_t from, uint64_t to);
	void *arg;
};

/**
 * dep_contexts_at() - find the call stacks at some positions
 * @at: @n positions, in any order
 * @options: NULL: the defaults
 *
 * A stack ends with the first function of its thread; that of a forked child has the frames that
 * its parent had.  All control columns are read once to find the entries of functions, unless @n is
 * 0.  After that, only threads with a position are folded, up to their last position, and threads
 * from which such a thread was forked.
 *
 * Return: 0 or a negative errno with dep_error().
 */
int dep_contexts_at(struct dep_store *store, const struct dep_fragments *code,
		    const struct dep_position *at, size_t n,
		    const struct dep_contexts_at_options *options, struct dep_call_stacks **out);
void dep_call_stacks_free(struct dep_call_stacks *s);

/**
 * struct dep_context_mismatch - a context that did not decode to its stack
 * @why: what differs
 * @call: number of the call, from 1
 * @tid: of the thread that made it
 * @late: decoded again after later encodings; the stacks are not known any more
 * @decoded, @stack: both stacks, innermost frame first
 */
struct dep_context_mismatch {
	const char *why;
	uint64_t call;
	uint32_t tid;
	bool late;
	struct dep_call_stack decoded, stack;
};

/** struct dep_context_check_options - every member may be zero or NULL */
struct dep_context_check_options {
	uint64_t every;		/* check one call in so many, and the first; 0: none */
	unsigned int jobs;	/* workers that find entries of functions, 0 = one per processor */
	uint64_t memory;	/* as in struct dep_contexts_options */
	/* called for the first mismatches; the stacks are valid during the call */
	void (*mismatch)(void *arg, const struct dep_context_mismatch *m);
	void *arg;
};

/**
 * struct dep_context_check - what the encoding of a recording's calls needs, and how it was checked
 * @calls: calls, tail calls and entries of signal handlers that were encoded
 * @checked: contexts that were recorded, decoded, and compared with the stack
 * @late: of these, those that were decoded once more after later encodings
 * @mismatches: contexts that differed, and calls or returns that the encoder refused
 * @compared: of @checked, those whose stack was also compared with the frames of the recording's
 *	stack
 * @not_compared: the others: the context is that of a stack which has just begun, or the frames'
 *	contexts did not fit the memory allowed
 * @stacks: stacks that were encoded, each with a state of its own
 * @created: of these, stacks that go on in the context of the call that created their thread or
 *	process
 * @unknown_callers: of these, stacks whose first function has callers that were not recorded
 * @unknown_returns: as in struct dep_contexts
 * @nodes, @edges: functions, and call sites with one of their callees
 * @gone: of @nodes, functions whose file was unmapped, or whose generated code was replaced; new
 *	encodings do without them.  Those that another thread still called stay until its end
 * @max_id: the largest id
 * @encodings: how often the graph was encoded anew
 * @pushes: calls that pushed an entry on the ccStack; of these, @fresh by edges that were newer
 *	than the encoding, @recursive by back edges
 * @saves: calls that saved the id; @loops: tail calls that closed a loop
 * @depth, @compressed: sums over all calls of the ccStack's height, as it is and with equal
 *	neighbours as one
 * @indirect_sites, @wide_sites: sites with indirect calls; those with more than 4 targets
 * @pcce_back, @pcce_pushes: PCCE (Sumner et al.) on the same graph: recursive edges, calls by these
 *	and of handlers
 * @pcce_max_id, @pcce_max_id_high: its largest id, the low and the high 64 bits; 2^126 - 1 if it is
 *	that or more
 */
struct dep_context_check {
	uint64_t calls, checked, late, mismatches, compared, not_compared;
	uint64_t stacks, created, unknown_callers, unknown_returns;
	uint64_t nodes, edges, gone, max_id, encodings;
	uint64_t pushes, fresh, recursive, saves, loops, depth, compressed;
	uint64_t indirect_sites, wide_sites;
	uint64_t pcce_back, pcce_pushes, pcce_max_id, pcce_max_id_high;
	struct dep_fold_loss loss;
};

/**
 * dep_contexts_check() - encode all calls of a recording (DACCE), and check that contexts decode
 * @options: NULL: the defaults
 *
 * All calls are checked up to the first one whose stack could be compared.
 *
 * Return: 0, also with mismatches, or a negative errno with dep_error().
 */
int dep_contexts_check(struct dep_store *store, const struct dep_fragments *code,
		       const struct dep_context_check_options *options,
		       struct dep_context_check *out);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
