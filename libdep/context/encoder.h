/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All of it together: a graph, its encodings, and the stacks of a process that go by them.
 *
 * For each call, return, and so on:
 *
 *	dep_cc_encoder_call()	-> 1: the caller brings its own stack up to date, then
 *	dep_cc_encoder_encode()	   all states are translated
 *	dep_cc_state_return(), dep_cc_state_unwind(), dep_cc_state_handler() ...
 *
 * The same calls have the same encodings: samples are taken and the policy is asked each time that
 * a number of calls was made.
 */
#ifndef ADEPT_CONTEXT_ENCODER_H
#define ADEPT_CONTEXT_ENCODER_H

#include "policy.h"
#include "state.h"

/** struct dep_cc_stack - a state that goes by an encoder; @slot, @arg: see dep_cc_slot_fn */
struct dep_cc_stack {
	struct dep_cc_state state;
	struct dep_cc_stack *next, **link;
	dep_cc_slot_fn *slot;
	void *arg;
};

/**
 * struct dep_cc_encoder - a process
 * @limit: of contexts of a node, see dep_cc_encode()
 * @sample: one call in so many is a sample
 * @since: what happened since the last encoding
 * @at: @counts at the last encoding
 * @triggers: why the next encoding is made
 *
 * @policy, @limit and @sample may be changed.
 */
struct dep_cc_encoder {
	struct dep_cc_graph graph;
	struct dep_cc_history history;
	struct dep_cc_encoding encoding;
	struct dep_cc_policy policy;
	u64 limit;
	u32 sample, triggers;
	struct dep_cc_counts counts, at;
	struct dep_cc_since since;
	struct dep_cc_stack *stacks;
};

/**
 * struct dep_cc_call - a call from the function at work
 * @rsp: see dep_cc_state_call()
 * @known: to save a look-up: 1 + the edge of an equal call from the same function; 0: not known
 * @kind: but DEP_CC_HANDLER
 */
struct dep_cc_call {
	u64 site, rsp;
	u32 callee, known;
	u8 kind;
};

/** dep_cc_encoder_init() - 0 or -ENOMEM; after an error nothing is left to be freed */
int dep_cc_encoder_init(struct dep_cc_encoder *en);
/** dep_cc_encoder_free() - the stacks must have been ended */
void dep_cc_encoder_free(struct dep_cc_encoder *en);

/** dep_cc_encoder_begin() - begin a stack, see dep_cc_state_init(); 0 or -ENOMEM */
int dep_cc_encoder_begin(struct dep_cc_encoder *en, struct dep_cc_stack *s,
			 const struct dep_cc_state *creator, dep_cc_slot_fn *slot, void *arg);
/** dep_cc_encoder_fork() - begin a stack as a copy of @from; 0 or -ENOMEM */
int dep_cc_encoder_fork(struct dep_cc_encoder *en, struct dep_cc_stack *s,
			const struct dep_cc_state *from, dep_cc_slot_fn *slot, void *arg);
void dep_cc_encoder_end(struct dep_cc_stack *s);

/**
 * dep_cc_encoder_call() - a call or tail call
 * @edge: set, for dep_cc_state_return(); DEP_CC_NONE: the graph is full
 *
 * Return: 0; 1: the same, and a new encoding should be made; or an error, see dep_cc_state_call().
 */
int dep_cc_encoder_call(struct dep_cc_encoder *en, struct dep_cc_stack *s,
			const struct dep_cc_call *c, u32 *edge);

/**
 * dep_cc_encoder_sample() - the call that was made last, if it is one in @sample
 * @edge: of the call; DEP_CC_NONE: it has none
 *
 * dep_cc_encoder_call() does this, too.
 *
 * Return: true if a new encoding should be made.
 */
bool dep_cc_encoder_sample(struct dep_cc_encoder *en, u32 edge);

/**
 * dep_cc_encoder_encode() - encode the graph anew and translate all states
 *
 * Return: 0; -ENOMEM from dep_cc_encode(), when nothing is changed; an error of
 * dep_cc_state_translate(), after which the stacks can only be ended.
 */
int dep_cc_encoder_encode(struct dep_cc_encoder *en);

#endif
