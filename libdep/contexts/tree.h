/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The calling context tree while it grows. */
#ifndef ADEPT_CONTEXTS_TREE_H
#define ADEPT_CONTEXTS_TREE_H

#include "dep/contexts.h"
#include "intervals.h"
#include "libdep/abi/types.h"
#include "libdep/fold/division.h"

/**
 * struct dep_node - a context
 *
 * The totals lack what the thread at hand has done, up to dep_tree_thread_end().
 *
 * @twin, @twin_process: with @copied: this context in the process that was copied to last; the root
 *	if it did not fit
 */
struct dep_node {
	u32 parent, process;
	u64 pc, site;
	u64 all_calls, all_insns, all_refs;
	u32 image, site_image;
	u32 twin, twin_process;
	u8 kind, incomplete, guess, copied;
};

#define DEP_NODE_NEXT	3u

/**
 * struct dep_node_now - what the thread at hand has done in a context
 * @next: contexts that were entered from it, by the step that did so and the fragment that it led
 *	to; 0: none
 * @used: in dep_tree.used, and @next is valid; @ready: also in dep_tree.timed, if that is wanted
 *
 * Each call and return changes two of these.  They are one cache line each, apart from the rest.
 */
struct dep_node_now {
	u64 calls, insns, refs;
	struct dep_node_next { u32 step, fragment, to; } next[DEP_NODE_NEXT];
	u8 used, ready;
};

/** struct dep_node_seen - a context's dep_node_now at the end of the previous segment */
struct dep_node_seen {
	u64 calls, insns, refs;
};

/** struct dep_node_slot - a slot of the hash table; @hash: half of the key's hash */
struct dep_node_slot {
	u32 hash, n;		/* @n: number of the context; 0: none */
};

#define DEP_NO_NODE	UINT32_MAX

struct dep_node_list {
	u32 *node;
	size_t n, room;
};

/** struct dep_tree - all contexts by number; 0 is the root */
struct dep_tree {
	struct dep_node *node;
	struct dep_node_now *now;
	struct dep_node_seen *seen;	/* only with @by_segment */
	u32 n, room;
	u32 limit;		/* number of contexts that the memory allows */
	u64 rows_limit;		/* number of rows of shares, of times, and of intervals */
	struct dep_node_slot *map;
	u32 map_mask;
	struct dep_node_list used, timed;
	struct dep_context_share *share;
	struct dep_context_time *time;
	size_t nshares, shares_room, ntimes, times_room;
	struct dep_interval_rows intervals;
	struct dep_division division;	/* @division.per_ns is 0: no rows of intervals are wanted */
	bool times;		/* rows of times are wanted */
	bool by_segment;	/* either of these rows is wanted */
	bool refused;		/* the last context that was looked for did not fit */
	u64 not_counted;
};

/** dep_tree_init() - @memory: bytes for the tree; @times, @division are set; 0 or -ENOMEM */
int dep_tree_init(struct dep_tree *t, u64 memory);
void dep_tree_free(struct dep_tree *t);

/**
 * dep_tree_child() - find or make the context like @key, of which the counts do not matter
 *
 * Return: its number; key->parent if the tree is full; DEP_NO_NODE without memory.
 */
u32 dep_tree_child(struct dep_tree *t, const struct dep_node *key);

/**
 * dep_tree_copy() - find or make the same path of contexts in another process
 *
 * Return: the number of the last one that fits; DEP_NO_NODE without memory.
 */
u32 dep_tree_copy(struct dep_tree *t, u32 node, u32 process);

/** dep_tree_list() - note that the thread at hand uses context @n; 0 or -ENOMEM */
int dep_tree_list(struct dep_tree *t, u32 n);

/** dep_tree_use() - the context @n, which the thread at hand enters or runs; NULL: no memory */
static inline struct dep_node_now *dep_tree_use(struct dep_tree *t, u32 n)
{
	struct dep_node_now *now = t->now + n;

	if (now->ready)
		return now;
	return dep_tree_list(t, n) ? NULL : now;
}

/** dep_tree_next() - the only place in dep_node_now.next for this transition */
static inline u32 dep_tree_next(u32 step, u32 fragment)
{
	u32 h = step * 0x9e3779b1u ^ fragment * 0x85ebca6bu;

	return (h >> 16) * DEP_NODE_NEXT >> 16;
}

/** dep_tree_segment_end() - make rows of times, and count for those of intervals; 0 or an error */
int dep_tree_segment_end(struct dep_tree *t, u32 thread, u64 start_ns);
/** dep_tree_thread_end() - make rows of shares; 0 or an error */
int dep_tree_thread_end(struct dep_tree *t, u32 thread);

/** dep_tree_result() - the sorted result, without the other counts; 0 or an error */
int dep_tree_result(struct dep_tree *t, struct dep_contexts *out);

#endif
