/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A follower sees what each activation executes, as a state machine.
 *
 * The hot loop takes most of its steps alone (hot.c): it looks up the next state, adds and counts.
 * It calls the follower only for what is not known yet, and where an activation ends in a rare way.
 */
#ifndef ADEPT_CONTEXTS_FOLLOW_H
#define ADEPT_CONTEXTS_FOLLOW_H

#include <stdbool.h>

#include "libdep/abi/types.h"

struct dep_walk;

#define DEP_STRETCH_ENDS	1u
#define DEP_STRETCH_WHOLE	2u

/**
 * struct dep_stretch - a state: what an activation has executed last, with one exit
 * @count: how often it was executed
 * @add: the sum of the activation grows by this
 * @base: with DEP_STRETCH_ENDS, something is counted by that sum, and @base is the next one
 * @last: with DEP_STRETCH_WHOLE, the sum grows by this where the function ends behind it, and is
 *	counted
 * @counter: counters by sum; NULL with DEP_STRETCH_ENDS: the follower counts.  With
 *	DEP_STRETCH_WHOLE it is not NULL; it is a single counter where all sums are 0
 * @next: the stretches that followed last, by exit; 0: none
 *
 * It is one cache line.  Number 0 is no stretch.
 */
struct dep_stretch {
	u64 count, add, base, last;
	u64 *counter;
	struct { u32 exit, stretch; } next[2];
	u32 flags;
};

/**
 * struct dep_progress - how far an activation has come
 * @stretch: 0: nothing is known of it yet
 * @ctx: its context; a tail call has changed it if that of the frame is another one
 * @sequence: what it has ended so far, for the follower; 0: nothing
 */
struct dep_progress {
	u64 sum;
	u32 stretch, ctx, sequence;
};

/**
 * struct dep_follower - the state machine and its owner
 * @stretch: all of them; a call of the follower can move them
 * @begin: by context, the stretch of an activation that has executed nothing; 0: not known
 * @contexts: number of them
 * @update: @at becomes that of the activation at work, which has begun or whose context has
 *	changed; 0 or an error, which ends the pass
 * @next: the stretch behind @stretch, of the activation at work, if it executes @exit; 0: there is
 *	none, or an error
 * @exit: the activation at work executes an exit; 0 or an error
 * @step: it executes a step of a fragment: the branch with this index in dep_fragments.step and
 *	what is in front of it; 0 or an error
 * @piece: it executes instructions of @fragment: those behind the first @nsteps steps, up to
 *	instruction @to, where no branch is: an exit is there, or an event, or the end; 0 or
 *	an error
 * @ended: @stretch ends something by @sum, and has no counters; @sequence: that of the activation
 * @end: an activation has returned, or it was left in another way
 */
struct dep_follower {
	void *self;
	struct dep_stretch *stretch;
	u32 *begin;
	size_t contexts;
	int (*update)(void *self, const struct dep_walk *w, struct dep_progress *at);
	u32 (*next)(void *self, const struct dep_walk *w, u32 stretch, u32 exit);
	int (*exit)(void *self, const struct dep_walk *w, struct dep_progress *at, u32 exit);
	int (*step)(void *self, const struct dep_walk *w, struct dep_progress *at, u32 fragment,
		    u32 step);
	int (*piece)(void *self, const struct dep_walk *w, struct dep_progress *at, u32 fragment,
		     u32 nsteps, u32 to);
	void (*ended)(void *self, u32 stretch, u64 sum, u32 *sequence);
	void (*end)(void *self, const struct dep_progress *at);
};

#endif
