/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Paths of activations, in two passes over the same walk.
 *
 * A run is code that is executed from one branch to the next: it begins where a branch leads to,
 * and ends with a branch.  What an activation executes is a sequence of runs.  The first pass
 * finds the runs of each function (nodes) and which of them follow each other (transitions).  Then
 * runs are divided into basic blocks, where another run begins inside of one, and the paths of the
 * graph are numbered (graph.c).  For each transition it is known from then on what it adds to the
 * number of the path, and which paths it ends (effect.c).  The second pass adds and counts.
 *
 * Both passes are a state machine that the hot loop of the walk runs (contexts/follow.h).  A state,
 * a stretch, is what an activation executes with one exit: a few runs, behind a node or where a
 * path begins (stretch.c).
 *
 * An edge is followed when its target is executed, not with its branch: only then it is known
 * whether a call has returned.  So an activation waits at the end of a run, and where it ends, the
 * last branch says how: a return ends a whole path, and anything else a partial one.
 */
#ifndef ADEPT_PATH_PROFILE_PASS_H
#define ADEPT_PATH_PROFILE_PASS_H

#include "dep/path_profile.h"
#include "row_map.h"
#include "libdep/contexts/walk.h"
#include "libdep/paths/regenerate.h"

#define DEP_PATH_NO	UINT32_MAX	/* as an index: none */

/**
 * struct dep_path_run - a run; the same for all fragments with its code
 *
 * Code that was rewritten has runs of its own: the bytes of its instructions differ.
 *
 * @last: address of its last instruction; @next: address behind it
 * @bytes: its instructions, in the store
 * @from, @to: instructions of @fragment
 */
struct dep_path_run {
	u64 start, last, next, target;
	const u8 *bytes;
	u32 fragment;
	u16 from, to;
	u8 branch;		/* enum dep_branch; NONE: it was interrupted, or goes on behind */
};

/**
 * struct dep_path_effect - what following some edges does to the path at hand
 * @add: the sum up to the first end, or up to the last edge if no path ends
 * @ends: number of paths that end
 * @middle: with several ends, index in dep_path_pass.middle of the numbers of the others
 * @base: with an end, the sum of the path that begins behind the last one
 */
struct dep_path_effect {
	u64 add, base;
	u32 ends, middle;
};

/**
 * struct dep_path_node - a run in a function
 * @chain: index in dep_path_pass.chain of its @blocks blocks
 * @begin: what it does to a path that begins here; @begin.base is the sum at first
 * @exit: value of the edge to the exit
 */
struct dep_path_node {
	u32 function, run;
	u32 next;		/* of the same function; DEP_PATH_NO: none */
	u32 chain, blocks;
	bool begins, exits;
	struct dep_path_effect begin;
	u64 exit;
};

/** struct dep_path_transition - @to follows @from; @loop: over an edge from a block to itself */
struct dep_path_transition {
	u64 count;
	u32 from, to;
	u32 next;		/* of the same function */
	bool loop;
	struct dep_path_effect effect;
};

/**
 * struct dep_path_fn - a function of a process
 * @block: by vertex of @graph
 * @count: executions of whole paths by number, if they are few; NULL: they have rows in
 *	dep_path_pass.counter
 * @begin: the stretch of an activation that has executed nothing
 */
struct dep_path_fn {
	u64 pc;
	u64 *count;
	u32 process, image, begin;
	u32 first_node, first_transition;
	struct dep_path_graph graph;
	struct dep_paths paths;
	struct dep_path_code *block;
	bool numbered;
};

/**
 * struct dep_path_counter - a path behind the paths of a window
 * @block: DEP_PATH_NO for a whole one
 * @before: the window, see sequence.c; 0: none
 * @after: the window that ends with it; 0: not known yet
 */
struct dep_path_counter {
	u64 number, count;
	u32 function, block, before, after;
};

/**
 * struct dep_path_window - the last paths of an activation
 * @counter: that of the first path that led to it
 * @next: 1 + index of the counter of the path that followed last; 0: none
 */
struct dep_path_window {
	u32 counter, next;
};

/**
 * struct dep_path_stretch - what the hot loop does not need of a stretch
 * @from: the node in front of it; DEP_PATH_NO: a path begins with it
 * @node: that of its last run; DEP_PATH_NO: it executes nothing
 * @first: that of its first run
 * @passed, @n: transitions that it goes over: their place in dep_path_pass.passed, and number
 * @later, @nlater: paths that it ends, without the first one: the place of their numbers in
 *	dep_path_pass.later
 * @number, @counter: the first path that it ended last time, and 1 + index of its counter
 */
struct dep_path_stretch {
	u64 number;
	u32 function, from, node, first, passed, n, later, nlater, counter;
};

#define DEP_PATH_RECENT		16384u	/* power of 2 */

/** struct dep_path_recent - the stretch behind @from at @exit is @to; 0: the place is free */
struct dep_path_recent {
	u32 from, exit, to;
};

/** struct dep_path_list - an array that grows */
struct dep_path_list {
	void *row;
	size_t n, room;
};

struct dep_path_pass {
	struct dep_store *store;
	const struct dep_fragments *code;
	u64 limit, used;	/* bytes of lists, maps, graphs and rows */
	bool counts;		/* the second pass */
	int err;		/* of a callback that returns nothing */
	u64 not_counted;
	u64 ignored;		/* whole paths that the hot loop counts in the first pass */
	u32 iterations;		/* paths of a sequence */
	u64 seed;		/* of hashes of windows */
	struct dep_follower follower;
	struct dep_path_recent *recent;	/* DEP_PATH_RECENT; a hash table without chains */

	u32 *file;		/* by image: the first one of the same file at this address */
	u32 *run_of_step;	/* 1 + index, by index of the step; 0: not known yet */
	/* bytes of a fragment's code up to the end of the step; 0: not known yet */
	u32 *code_of_step;

	struct dep_path_list run, node, transition, function, counter, window, chain, middle;
	struct dep_path_list hot, stretch, passed, later;	/* @hot and @stretch: by number */
	struct dep_row_map run_map, node_map, transition_map, function_map, counter_map;
	struct dep_row_map stretch_map, sequence_map, window_map;
};

#define DEP_PATH_ROW(type, list, i)	((type *)(list).row + (i))

static inline struct dep_path_run *dep_path_run_at(const struct dep_path_pass *p, u32 i)
{
	return DEP_PATH_ROW(struct dep_path_run, p->run, i);
}

static inline struct dep_path_node *dep_path_node_at(const struct dep_path_pass *p, u32 i)
{
	return DEP_PATH_ROW(struct dep_path_node, p->node, i);
}

static inline struct dep_path_transition *dep_path_transition_at(const struct dep_path_pass *p,
								 u32 i)
{
	return DEP_PATH_ROW(struct dep_path_transition, p->transition, i);
}

static inline struct dep_path_fn *dep_path_fn_at(const struct dep_path_pass *p, u32 i)
{
	return DEP_PATH_ROW(struct dep_path_fn, p->function, i);
}

static inline struct dep_stretch *dep_path_hot_at(const struct dep_path_pass *p, u32 i)
{
	return DEP_PATH_ROW(struct dep_stretch, p->hot, i);
}

static inline struct dep_path_stretch *dep_path_stretch_at(const struct dep_path_pass *p, u32 i)
{
	return DEP_PATH_ROW(struct dep_path_stretch, p->stretch, i);
}

static inline struct dep_path_counter *dep_path_counter_at(const struct dep_path_pass *p, u32 i)
{
	return DEP_PATH_ROW(struct dep_path_counter, p->counter, i);
}

/* Transition number @i of a stretch. */
static inline struct dep_path_transition *dep_path_passed(const struct dep_path_pass *p,
							  const struct dep_path_stretch *s, u32 i)
{
	return dep_path_transition_at(p, *DEP_PATH_ROW(u32, p->passed, s->passed + i));
}

/* The last run of the stretch @at, which executes something. */
static inline const struct dep_path_run *dep_path_last_run(const struct dep_path_pass *p,
							   const struct dep_path_stretch *at)
{
	return dep_path_run_at(p, dep_path_node_at(p, at->node)->run);
}

/** dep_path_changed() - -ESTALE with dep_error(): the second pass found what the first had not */
int dep_path_changed(void);

/* ---- lists.c ---- */

/** dep_path_charge() - count @bytes as used; 0, or -ENOSPC if they are more than allowed */
int dep_path_charge(struct dep_path_pass *p, u64 bytes);

/** dep_path_add() - append a row of zeros; its index, or -ENOMEM, -ENOSPC */
s64 dep_path_add(struct dep_path_pass *p, struct dep_path_list *list, size_t row_bytes);

/**
 * dep_path_index() - the index of @key in @map; a new row of @list if it has none
 * @added: set if the row is new
 */
s64 dep_path_index(struct dep_path_pass *p, struct dep_row_map *map,
		   const struct dep_row_key *key, struct dep_path_list *list, size_t row_bytes,
		   bool *added);
void dep_path_pass_free(struct dep_path_pass *p);

/* ---- files.c ---- */

/** dep_path_files() - make @p->file; 0 or an error */
int dep_path_files(struct dep_path_pass *p);

/* ---- runs.c ---- */

/** dep_path_step_run() - the run of a step of @fragment; its index or an error */
s64 dep_path_step_run(struct dep_path_pass *p, const struct dep_walk *w, u32 fragment, u32 step);
/** dep_path_piece_run() - that of the instructions behind @nsteps steps, up to @to */
s64 dep_path_piece_run(struct dep_path_pass *p, const struct dep_walk *w, u32 fragment,
		       u32 nsteps, u32 to);
/**
 * dep_path_insns() - addresses of a run's instructions, and that behind the last one
 * @out: room for run->to - run->from + 1 addresses
 *
 * Return: 0 or -EBADMSG.
 */
int dep_path_insns(const struct dep_path_pass *p, const struct dep_path_run *run, u64 *out);

/* ---- stretch.c ---- */

/** struct dep_path_executed - what is executed at once: an exit, or the run @run - 1 if not 0 */
struct dep_path_executed {
	u32 exit, run;
};

/** dep_path_stretch_begin() - the stretch of function @function that executes nothing */
s64 dep_path_stretch_begin(struct dep_path_pass *p, u32 function);
/**
 * dep_path_stretch_next() - the stretch behind number @from
 *
 * Return: its number; 0: control does not come from @from to it; or a negative errno.
 */
s64 dep_path_stretch_next(struct dep_path_pass *p, const struct dep_walk *w, u32 from,
			  const struct dep_path_executed *what);

/* ---- follow.c ---- */

/** dep_path_follower() - make @p->follower, which follows activations; @p->counts: what for */
void dep_path_follower(struct dep_path_pass *p);

/* ---- counter.c ---- */

/**
 * dep_path_count() - add @what->count to the counter of a path
 *
 * Return: the index of the counter; -ENOSPC: there was no room, which is counted; or -ENOMEM.
 */
s64 dep_path_count(struct dep_path_pass *p, const struct dep_path_counter *what);
/** dep_path_count_whole() - count a whole path; 0 or an error other than -ENOSPC */
int dep_path_count_whole(struct dep_path_pass *p, u32 function, u64 number, u64 times);

/* ---- sequence.c ---- */

/* Bits of hashes of windows; a variable for tests. */
extern u64 dep_path_hash_bits;

/**
 * dep_path_count_next() - count a path behind those of the window @what->before
 * @what: counted once; @what->before can be DEP_PATH_NO: not known, for lack of memory
 * @after: gets the window behind it; NULL: the activation ends with this path
 *
 * Return: 0 or an error other than -ENOSPC.
 */
int dep_path_count_next(struct dep_path_pass *p, const struct dep_path_counter *what, u32 *after);
/** dep_path_ended_in_sequence() - dep_follower.ended; dep_progress.sequence is a window */
void dep_path_ended_in_sequence(void *self, u32 stretch, u64 sum, u32 *sequence);
/**
 * dep_path_window() - the numbers of the paths of a window, the last one first
 * @number: room for p->iterations - 1
 *
 * Return: how many there are.
 */
u32 dep_path_window(const struct dep_path_pass *p, u32 window, u64 *number);

/* ---- settle.c ---- */

/** dep_path_settle() - a pass has ended: count transitions and paths by what stretches counted */
int dep_path_settle(struct dep_path_pass *p);

/* ---- graph.c ---- */

/* Paths of functions with more blocks are not counted; a variable for tests. */
extern u32 dep_path_blocks_limit;

/** dep_path_graphs() - make the graph of each function and number its paths; 0 or an error */
int dep_path_graphs(struct dep_path_pass *p);

/* ---- effect.c ---- */

/** dep_path_effects() - find what the transitions of function @i do; 0 or an error */
int dep_path_effects(struct dep_path_pass *p, u32 i);
/** dep_path_stretch_effect() - the same for a stretch of the second pass; 0 or an error */
int dep_path_stretch_effect(struct dep_path_pass *p, u32 stretch);

/* ---- rows.c ---- */

/** dep_path_rows() - make the rows of @out from the counters; 0 or an error */
int dep_path_rows(struct dep_path_pass *p, struct dep_path_profile *out);

#endif
