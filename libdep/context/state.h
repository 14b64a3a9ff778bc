/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The context of one stack of a thread, as calls and returns change it.
 *
 * The context is an id, the function at work, and the ccStack:
 *
 *	call, encoded		id += add			return: id -= add
 *	call, saves		save id; id += add		return: id = saved
 *	call, not encoded	push {id, site, target}; id = maxID + 1
 *								return: pop, id = that of the entry
 *	tail call, encoded	id += add			(returns with its slot)
 *	tail call, not encoded	erase the loops of the slot's tail chain, then push or cut it
 *	signal handler		push {id, pc, handler}; id = maxID + 1
 *								sigreturn: pop up to that entry
 *
 * Slots.  The slot of an activation is the address of its return address.  The stack grows down, so
 * a callee has a lower slot than its caller; a tail-called function has the slot of the one that it
 * replaced.  Entries and saved ids have the slot of the called activation.  A return from a slot
 * drops all that have it or a lower one, so an activation that was left in another way leaves
 * nothing behind.  Only the order of slots counts: any numbers that fall with the depth will do.
 *
 * Stack pointer set anew: longjmp, an exception, a switch back from a handler.  Entries with a slot
 * below rsp are dropped.  What remains above the last one is a path of encoded edges, and such a
 * path has each function once, so the function that goes on is found by its name.  It is the last
 * of its tail chain, since the others of the chain have ended.  The stack of a handler may be above
 * or below that of the code it interrupted, so slots of both are never compared, and handlers are
 * counted instead.
 *
 * Each stack of a thread has a state of its own: a coroutine that is switched away from keeps its
 * context.  The caller knows which stack runs.
 *
 * A state needs no locks if no other thread uses it.  Memory comes from malloc().
 */
#ifndef ADEPT_CONTEXT_STATE_H
#define ADEPT_CONTEXT_STATE_H

#include "decode.h"
#include "encode.h"

/** struct dep_cc_saved - an id that a return restores; @rsp: slot of the called activation */
struct dep_cc_saved {
	u64 rsp, id;
	u32 function;
};

/**
 * struct dep_cc_counts - what states have done
 * @calls: all calls, tail calls and handlers
 * @pushes: of these, the ones that pushed an entry
 * @fresh: of these, by edges that are newer than the encoding
 * @recursive: of these, by back edges
 * @saves: calls that saved the id
 * @loops: tail calls that closed a loop
 * @depth, @compressed: sums of the height of the ccStack after each call; @compressed: with equal
 *	neighbours counted, as in records
 */
struct dep_cc_counts {
	u64 calls, pushes, fresh, recursive, saves, loops;
	u64 depth, compressed;
};

/**
 * struct dep_cc_state - a context at work
 * @encoding: what calls add now
 * @dictionary: of @id and the entries: that of @encoding, but for the time between a new encoding
 *	and dep_cc_state_translate()
 * @id: flagged if the encoded path begins at the target of the top entry
 * @function: node at work; the root before the first call
 * @handlers: number of handlers at work
 * @max: at most so many entries, and as many saved ids; may be set while there are fewer
 * @origin: context of the call that created the thread; NULL: not known
 * @counts: may be shared by states
 */
struct dep_cc_state {
	const struct dep_cc_encoding *encoding;
	const struct dep_cc_dictionary *dictionary;
	u64 id;
	u32 function, handlers;
	struct dep_cc_entry *entry;
	size_t n, room;
	struct dep_cc_saved *saved;
	size_t nsaved, saved_room;
	size_t max;
	struct dep_cc_origin *origin;
	struct dep_cc_counts *counts;
	struct dep_cc_chain chain;	/* scratch */
};

/**
 * dep_cc_state_init() - a stack on which nothing was called
 * @creator: the state at the call that creates the thread; NULL: not known
 *
 * A start edge enters the first function.  When a recording begins in the middle, that is the
 * function at work, and frames below it are not known.
 *
 * Return: 0 or -ENOMEM.
 */
int dep_cc_state_init(struct dep_cc_state *s, const struct dep_cc_encoding *e,
		      struct dep_cc_counts *counts, const struct dep_cc_state *creator);
/** dep_cc_state_copy() - the state of a child of fork; 0 or -ENOMEM */
int dep_cc_state_copy(struct dep_cc_state *to, const struct dep_cc_state *from);
void dep_cc_state_free(struct dep_cc_state *s);

/**
 * dep_cc_state_call() - a call, of any kind but a tail call and a handler
 * @edge: from the function at work
 * @rsp: slot of the called activation
 *
 * Counts the call in the edge.
 *
 * Return: 0, -EINVAL if the edge is from another function, -E2BIG for more than @max entries, or
 * -ENOMEM.  The context is that of before in case of an error, here and below.
 */
int dep_cc_state_call(struct dep_cc_state *s, struct dep_cc_graph *g, u32 edge, u64 rsp);
/** dep_cc_state_enter() - a call or tail call without an edge, since the graph is full */
int dep_cc_state_enter(struct dep_cc_state *s, u64 site, u32 callee, enum dep_cc_kind kind,
		       u64 rsp);
/**
 * dep_cc_state_tail() - a tail call
 * @rsp: slot of the activation at work, which that of the callee is too
 *
 * Return: as dep_cc_state_call().
 */
int dep_cc_state_tail(struct dep_cc_state *s, struct dep_cc_graph *g, u32 edge, u64 rsp);
/** dep_cc_state_handler() - a signal interrupts the instruction @pc */
int dep_cc_state_handler(struct dep_cc_state *s, u64 pc, u32 handler);

/**
 * dep_cc_state_return() - the activation with slot @rsp returns
 * @edge: by which it was called; DEP_CC_NONE: not known, which may cost a walk through its tail
 *	chain
 *
 * It must be the innermost activation; use dep_cc_state_unwind() if others ended with it.
 *
 * Return: 0, or -EINVAL if no such activation can be at work.
 */
int dep_cc_state_return(struct dep_cc_state *s, const struct dep_cc_graph *g, u32 edge, u64 rsp);
/** dep_cc_state_sigreturn() - the innermost handler ends; 0, or -EINVAL if there is none */
int dep_cc_state_sigreturn(struct dep_cc_state *s);
/**
 * dep_cc_state_unwind() - the stack pointer was set anew
 * @function: goes on
 * @rsp: stack pointer: activations with a lower slot have ended
 * @handlers: number of handlers that are still at work
 *
 * Return: 0, -EINVAL for more @handlers than there are, or -ENOENT if @function is not at work
 * there.
 */
int dep_cc_state_unwind(struct dep_cc_state *s, u32 function, u64 rsp, u32 handlers);

/**
 * dep_cc_state_record() - the context now
 * @compress: equal neighbours in the ccStack become one entry with a count
 *
 * Return: 0 or -ENOMEM.  To be freed with dep_cc_record_free().
 */
int dep_cc_state_record(const struct dep_cc_state *s, bool compress, struct dep_cc_record *r);

/**
 * dep_cc_state_chain() - functions at work, by the state itself and without a copy
 *
 * Return: as dep_cc_decode().
 */
int dep_cc_state_chain(const struct dep_cc_state *s, struct dep_cc_chain *to);

/**
 * dep_cc_slot_fn - finds slots
 * @n: number of the activation, from the innermost one, which is 0; a tail chain is one activation
 *
 * Called only for activations whose call pushes an entry or saves the id in the new encoding, and
 * not for handlers.
 */
typedef u64 dep_cc_slot_fn(void *arg, size_t n);

/**
 * dep_cc_state_translate() - go on with the same context in a new encoding
 *
 * The dictionary of the old encoding must still be in the history.  Takes time for each function at
 * work.
 *
 * Return: 0, -EBADMSG if the state is damaged, -E2BIG, or -ENOMEM.
 */
int dep_cc_state_translate(struct dep_cc_state *s, const struct dep_cc_graph *g,
			   const struct dep_cc_encoding *e, dep_cc_slot_fn *slot, void *arg);

#endif
