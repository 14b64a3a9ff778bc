/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The stacks of a thread, as calls and returns change them.
 *
 * A frame is an activation that was called: {return address, slot, context}.  Its slot is the
 * address of its return address on the stack, so frames whose slot is below rsp have ended: they
 * returned, or longjmp or an exception went past them.  rsp follows from constants in the code
 * (moves.h).  Where the stack pointer was set anew before a return or an indirect jump, the segment
 * is recovered once to learn it (learn.c).
 *
 * A strand is a stack with frames: a thread has several if it switches between contexts, and one
 * for each signal handler at work.  It is found again by its range of addresses.
 *
 *	frame[0]	never returns; its context is that of frame[1]
 *	frame[1]	the first function, entered with rsp == strand.high
 *	frame[2..]	calls, at falling addresses
 *	frame[n - 1]	the activation at work
 */
#ifndef ADEPT_CONTEXTS_WALK_H
#define ADEPT_CONTEXTS_WALK_H

#include <errno.h>

#include "dep/events.h"
#include "follow.h"
#include "moves.h"
#include "tree.h"

#define DEP_SEG_NONE	UINT32_MAX

/**
 * struct dep_activation - an activation
 * @slot: rsp at its entry; if that is not known, the ordinal of the call in its segment
 * @frame: frame pointer that it set; 0: none, or not known
 * @seg: 0: @slot is known; DEP_SEG_NONE: it cannot be learned; otherwise 1 + index of the segment
 *	in the store
 */
struct dep_activation {
	u64 ret, slot, frame;
	u32 ctx, seg;
};

#define DEP_LOW_UNKNOWN	1u

/**
 * struct dep_strand - a stack
 * @below: the strand that a signal interrupted; NULL: no handler, or that strand is gone
 * @hooked: of the owner of dep_walk.hooks; NULL at first
 * @low: rsp when a signal interrupted this strand, or DEP_LOW_UNKNOWN; 0: no signal did
 * @pc: the instruction that the signal interrupted, with @low; 0: rsp belongs to another frame
 * @progress: with dep_walk.follower, of each frame; all 0 at first
 */
struct dep_strand {
	struct dep_activation *frame;
	struct dep_progress *progress;
	size_t n, room;
	u64 high, low, pc;
	struct dep_strand *below;
	void *hooked;
	bool handler;
};

/* What is known of rsp. */
enum dep_rsp_state {
	DEP_KNOWN,
	DEP_WITHIN,	/* not known, but within the activation's frame */
	DEP_ANEW,	/* set by other means: may be anywhere */
};

/** struct dep_learned - stack pointers at all calls, returns and jumps of a segment */
struct dep_learned {
	u32 seg;		/* 1 + index; 0: none */
	struct dep_learned_sp { u64 pc, sp; } *at;
	size_t n, room;
};

/* Generations are in the upper bits of a transition's key; 0 is that of an empty cache. */
#define DEP_GENERATION	8u
_Static_assert(DEP_CONTEXT_KINDS <= DEP_GENERATION, "a kind needs the bits below a generation");

/*
 * A transition that was made before; a cache.
 * @image: of the code at @pc: another file can be mapped there later
 * @key: enum dep_context_kind, and dep_walk.generation
 */
struct dep_step_to {
	u32 from, to;
	u64 pc;
	u32 exit, key;
	u32 image;
	u32 pad;		/* half a cache line */
};

#define DEP_STEPS_TO	32768u	/* power of 2 */
#define DEP_LEFT	256u		/* power of 2 */

/**
 * struct dep_forked - what a child will go on from
 * @next: 1 + index of the next one with the same @parent and @pid; 0: none
 */
struct dep_forked {
	u32 parent, pid;	/* serial of the thread that called clone; its result */
	u64 rsp;		/* of the parent; 0: not known */
	u32 ctx;
	u32 nframes;		/* 0: a thread with its own stack */
	u32 next;
	bool taken;
	bool cut;		/* there was no memory for the frames */
	struct dep_activation *frame;
	void *hooked;		/* of the owner of dep_walk.hooks */
};

/** struct dep_forked_queue - those with the same parent and pid; 1 + index in dep_walk.forked */
struct dep_forked_queue {
	u32 first;		/* 0: none waits for its child */
	u32 last;		/* 0: no queue */
};

/** struct dep_watched_call - a call as seen by dep_walk.watch */
struct dep_watched_call {
	u32 thread;
	u64 pc;			/* 0: a signal handler */
	u64 slot;		/* of the calling activation; 0: not known */
	u64 depth;		/* frames below the new one, in its strand */
};

struct dep_branch_at;

/**
 * struct dep_walk_hooks - called when stacks change
 * @run: in place of dep_hot_run(), the loop over common exits; it does what the other hooks would
 *	do at calls, tail calls and returns, and counts nothing in contexts
 * @call: before a frame is pushed to the stack at work; 0 or an error, which ends the walk and is
 *	returned by the next call, too
 * @tail: before a tail call changes the last frame's context; 0 or an error
 * @returns: before a return pops the last frame
 * @handler: a signal handler has begun on the stack at work; 0 or an error
 * @sigreturn: before a handler goes back to the stack that it interrupted
 * @forked: a clone or fork: the result, which may be NULL, goes to @begins or @unforked
 * @begins: the thread at hand begins; @from: from @forked of its creator, or NULL; @copied: it has
 *	copies of its creator's frames
 * @unforked: the child of @forked does not begin
 * @changed: frames of the stack are not those that were pushed: forget what is known of it
 * @gone: before a stack is freed
 *
 * Other changes are not reported: frames that are missing at the next call have ended in another
 * way, and a new stack begins with the frames that it has when its first hook is called.
 */
struct dep_walk_hooks {
	size_t (*run)(void *arg, const u32 *exit, size_t i, size_t n);
	int (*call)(void *arg, const struct dep_branch_at *b);
	int (*tail)(void *arg, const struct dep_branch_at *b);
	void (*returns)(void *arg);
	int (*handler)(void *arg, struct dep_strand *interrupted);
	void (*sigreturn)(void *arg);
	void *(*forked)(void *arg);
	void (*begins)(void *arg, void *from, bool copied);
	void (*unforked)(void *arg, void *from);
	void (*changed)(void *arg, struct dep_strand *s);
	void (*gone)(void *arg, struct dep_strand *s);
};

/**
 * struct dep_wanted - a position whose stack is wanted
 * @ctx: the context there; valid with @set
 * @exact: an instruction at @at.pc was executed in @ctx
 */
struct dep_wanted {
	struct dep_position at;
	size_t index;		/* of the caller */
	u32 ctx;
	bool set, exact, cut;	/* @cut: frames may be missing for lack of memory */
};

struct dep_walk {
	struct dep_store *store;
	const struct dep_fragments *code;
	const struct dep_moves *moves;
	struct dep_tree tree;

	/* the thread */
	const struct dep_thread *thread;
	struct dep_strand **strand;	/* sorted by high; @at is one of them */
	size_t nstrands, strands_room;
	size_t nhandlers;	/* strands of signal handlers */
	struct dep_strand *at;
	bool begun;		/* @at is valid */
	size_t gone;		/* frames that dep_strand_pop_below() popped */
	bool known_start;	/* ADEPT_EV_THREAD_START came, nothing is missing since then */
	u64 created_at;
	u32 ctx;		/* context at work */
	/*
	 * Executed in it, not yet counted in its node.  They are no neighbours: a vector load of
	 * two words that were just stored one by one would wait until they are in the cache.
	 */
	u64 insns;
	u64 rsp;
	u64 refs;
	u8 state;		/* enum dep_rsp_state */
	bool anew;		/* DEP_ANEW was the state since the last branch that counts */

	/* the segment */
	const struct dep_segment *segment;
	u32 seg;		/* 1 + index of the segment in the store */
	u32 branches;		/* calls, returns, jumps so far */
	u32 head_fragment, head_insn;	/* of a first record that began before; 1 + index */

	/* events */
	bool signal, sigreturn;
	u64 signal_pc;

	struct dep_forked *forked;
	struct dep_forked_queue *queue;	/* hash table with twice the room of @forked */
	size_t nforked, forked_room;
	struct dep_learned learned[2];	/* of the segment at hand, of another one */
	struct dep_step_to *cache;
	u32 generation;		/* transitions in @cache with another one are not valid */
	size_t max_frames, nframes_all;	/* limit, and number in all strands and forks */
	size_t nframes_forked;		/* of these, in forks */

	u64 unknown_returns, recovered, dropped_frames;
	u64 unread;		/* segments that could not be recovered as a whole */
	u8 *is_unread;		/* a bit for each segment, by 1 + its index; NULL: no bit is set */
	void (*watch)(void *arg, const struct dep_watched_call *call);
	void *watch_arg;
	struct dep_follower *follower;	/* NULL: none */
	bool followed;		/* it has seen the exit at hand, whose branch is rare */
	const struct dep_walk_hooks *hooks;	/* NULL: none */
	void *hooks_arg;
	bool flat;		/* a call site has one context for each callee, not for each path */

	/* finds callers at an attach; NULL: they are not looked for */
	struct dep_symbols *symbols;
	struct dep_callers *callers;	/* of the thread at hand; valid with @attached */
	bool attached;			/* ADEPT_EV_ATTACH came, and no code behind it */
	bool has_attach;		/* ADEPT_EV_ATTACH came, in any thread */

	/* positions whose stacks are wanted, sorted; NULL: the whole tree is */
	struct dep_wanted *wanted;
	size_t nwanted;
	size_t wanted_at, wanted_end;	/* those of the segment that are not passed yet */
	u32 signals;			/* in the segment: signals, and returns from handlers */
	/* as in struct dep_contexts_at_options; and its latest answers for indirect jumps */
	bool (*leaves)(void *arg, u32 process, u64 from, u64 to);
	void *leaves_arg;
	struct dep_left {
		u64 from, to;
		u32 process;
		bool leaves;
	} left[DEP_LEFT];
};

/** struct dep_branch_at - a branch that is executed */
struct dep_branch_at {
	const struct dep_branch_step *step;
	const struct dep_move *move;
	u32 step_number;
	u32 fragment;
	u64 to;			/* next pc; 0: not known */
	s64 to_fragment;	/* that begins there; -1: none */
};

static inline struct dep_activation *dep_top(const struct dep_walk *w)
{
	return w->at->frame + w->at->n - 1;
}

/** dep_progress() - how far the activation at work has come, for the follower */
static inline struct dep_progress *dep_progress(const struct dep_walk *w)
{
	return w->at->progress + w->at->n - 1;
}

/* ---- count.c: contexts, and what they execute ---- */

/** dep_count_flush() - count what was executed in the context at work; 0 or -ENOMEM */
static inline int dep_count_flush(struct dep_walk *w)
{
	struct dep_node_now *node;

	if (!w->insns)
		return 0;
	node = dep_tree_use(&w->tree, w->ctx);
	if (!node)
		return -ENOMEM;
	node->insns += w->insns;
	node->refs += w->refs;
	w->insns = w->refs = 0;
	return 0;
}

/**
 * dep_count_enter() - count an entry into @ctx, which was found or made just before
 *
 * Counts nothing if the tree was full: @ctx is the parent then, which was not entered.
 *
 * Return: 0 or -ENOMEM.
 */
static inline int dep_count_enter(struct dep_walk *w, u32 ctx)
{
	struct dep_node_now *node;

	if (w->tree.refused)
		return 0;
	node = dep_tree_use(&w->tree, ctx);
	if (!node)
		return -ENOMEM;
	node->calls++;
	return 0;
}

/** dep_steps_to_new() - an empty cache; NULL: no memory */
struct dep_step_to *dep_steps_to_new(void);

/** dep_image_of() - the image of @fragment; 0: none, also if @fragment is -1 */
static inline u32 dep_image_of(const struct dep_walk *w, s64 fragment)
{
	return fragment >= 0 ? w->code->fragment[fragment].image : 0;
}

/** dep_step_to() - where the cache has a transition to @pc at step number @step, if it has it */
static inline struct dep_step_to *dep_step_to(const struct dep_walk *w, u32 from, u32 kind,
					      u32 step, u64 pc)
{
	u32 h = (from * 0x9e3779b1u ^ step * 0x85ebca6bu ^ (u32)pc) + kind;

	return w->cache + ((h ^ h >> 15) & (DEP_STEPS_TO - 1));
}

static inline bool dep_is_step_to(const struct dep_walk *w, const struct dep_step_to *c, u32 from,
				  u32 kind, u32 step, u64 pc, s64 fragment)
{
	return c->from == from && c->exit == step && c->pc == pc &&
	       c->key == (w->generation | kind) && c->image == dep_image_of(w, fragment);
}

/** dep_count_forget() - another thread begins: forget which transitions were made */
void dep_count_forget(struct dep_walk *w);
/** dep_context_of() - the context of a call or jump to another function from that at work */
u32 dep_context_of(struct dep_walk *w, u8 kind, const struct dep_branch_at *b);
/** dep_context_tail() - the context of a tail call from that at work */
u32 dep_context_tail(struct dep_walk *w, const struct dep_branch_at *b);
/** dep_context_new() - any context; see dep_tree_child() */
u32 dep_context_new(struct dep_walk *w, u32 parent, u8 kind, u64 site, s64 site_fragment, u64 pc,
		    s64 fragment, bool incomplete);

/* ---- strand.c: stacks ---- */

/* How far a stack reaches below its last frame, unless it changed by a return. */
#define DEP_NEAR	(1ull << 20)
/* The same behind a return: the first one on a stack that is not known is close to its end. */
#define DEP_NEAR_RETURN	(1ull << 12)

/** dep_strand_begin() - begin a stack with a function entered at @rsp; 0 or -ENOMEM */
int dep_strand_begin(struct dep_walk *w, u64 rsp, u32 ctx);
/** dep_strand_left() - how many frames the stack at work has room for, within the limit of all */
static inline size_t dep_strand_left(const struct dep_walk *w)
{
	size_t room = w->at->room - w->at->n;
	size_t all = w->max_frames < w->nframes_all ? 0 : w->max_frames - w->nframes_all;

	return room < all ? room : all;
}

/** dep_strand_room() - make room for a frame in the stack at work; 0 or -ENOMEM */
int dep_strand_room(struct dep_walk *w);

/**
 * dep_strand_push() - push a frame to the stack at work; 0 or -ENOMEM
 *
 * It is not copied as a whole, since @f has just been filled in: see dep_walk.insns.
 */
static inline int dep_strand_push(struct dep_walk *w, const struct dep_activation *f)
{
	struct dep_strand *s = w->at;
	struct dep_activation *to;

	if ((w->nframes_all >= w->max_frames || s->n == s->room) && dep_strand_room(w))
		return -ENOMEM;
	to = s->frame + s->n++;
	to->ret = f->ret;
	to->slot = f->slot;
	to->frame = f->frame;
	to->ctx = f->ctx;
	to->seg = f->seg;
	if (s->progress)
		s->progress[s->n - 1] = (struct dep_progress){ 0 };
	w->nframes_all++;
	w->ctx = f->ctx;
	return 0;
}

/** dep_strand_ended() - tell the follower that frames from @from to @to - 1 of @s have ended */
static inline void dep_strand_ended(struct dep_walk *w, struct dep_strand *s, size_t from,
				    size_t to)
{
	if (!s->progress)
		return;
	while (to-- > from) {
		if (s->progress[to].stretch)
			w->follower->end(w->follower->self, s->progress + to);
		s->progress[to] = (struct dep_progress){ 0 };
	}
}

/** dep_strand_slot() - the slot of a frame, learned if needed; 0: not known */
u64 dep_strand_slot(struct dep_walk *w, struct dep_activation *f);
/** dep_strand_pop_below() - pop frames whose slot is below @rsp */
void dep_strand_pop_below(struct dep_walk *w, u64 rsp);
/**
 * dep_strand_find() - change to the stack with @rsp, and pop frames below it
 * @near: addresses less than this below the last frame belong to the stack at work
 *
 * Return: false if no stack has this address.
 */
bool dep_strand_find(struct dep_walk *w, u64 rsp, u64 near);
/**
 * dep_strand_sigreturn() - a handler ends: return to the stack that was interrupted
 *
 * The frames are those from before the signal if the thread goes on where it was interrupted.
 */
void dep_strand_sigreturn(struct dep_walk *w, u64 pc, u64 rsp);
void dep_strands_drop(struct dep_walk *w);

/* ---- learn.c ---- */

/**
 * dep_learn() - the stack pointer after a branch of segment @seg, by its ordinal
 *
 * Recovers the segment if that was not done just before.
 *
 * Return: 0 if it is not known.
 */
u64 dep_learn(struct dep_walk *w, u32 seg, u64 ordinal);
/** dep_learn_last() - the same for the branch that was executed last */
u64 dep_learn_last(struct dep_walk *w);
void dep_learned_free(struct dep_walk *w);

/* ---- branch.c ---- */

/** dep_branch_change() - change what is known of rsp; @align: of DEP_RSP_ALIGN */
void dep_branch_change(struct dep_walk *w, const struct dep_move *move,
		       const struct dep_align *align);
/* The branches, in the general case; 0 or -ENOMEM.  rsp is that before the branch. */
int dep_branch_call(struct dep_walk *w, const struct dep_branch_at *b);
int dep_branch_return(struct dep_walk *w, const struct dep_branch_at *b);
int dep_branch_jump(struct dep_walk *w, const struct dep_branch_at *b);
int dep_branch_tail(struct dep_walk *w, const struct dep_branch_at *b);

/* ---- thread.c: where threads begin, events ---- */

/** dep_thread_begin() - the first instruction behind a beginning or a gap; 0 or an error */
int dep_thread_begin(struct dep_walk *w, u64 pc, s64 fragment);
int dep_thread_event(struct dep_walk *w, const struct dep_event *ev);
void dep_thread_lost(struct dep_walk *w);
void dep_forked_free(struct dep_walk *w);

/* ---- callers.c: the stack at an attach ---- */

/** dep_callers_attach() - ADEPT_EV_ATTACH; 0 or -ENOMEM */
int dep_callers_attach(struct dep_walk *w);
void dep_callers_free(struct dep_walk *w);
void dep_callers_piece(struct dep_walk *w, const struct adept_ev_stack *piece);
/** dep_callers_context() - true if these are the registers at the attach */
bool dep_callers_context(struct dep_walk *w, const struct adept_ev_context *context);
/** dep_callers_begin() - begin the stack of an attach, if callers are known; 0 or -ENOMEM */
int dep_callers_begin(struct dep_walk *w);

/* ---- at.c: stacks at positions ---- */

/** dep_at_segment() - a segment begins */
void dep_at_segment(struct dep_walk *w);
/** dep_at_insns() - the instructions [@from, @to) come next, then the branch after w->branches */
void dep_at_insns(struct dep_walk *w, u64 from, u64 to);
/** dep_at_end() - the segment ends; @follows: the next segment goes on there */
void dep_at_end(struct dep_walk *w, bool follows);

/* ---- contexts.c ---- */

/** dep_contexts_run() - run the fold over @w->store; @w has the result up to dep_contexts_end() */
int dep_contexts_run(struct dep_walk *w, const struct dep_contexts_options *o,
		     struct dep_fold_loss *loss);
void dep_contexts_end(struct dep_walk *w);

/* ---- hot.c ---- */

/**
 * dep_hot_run() - run common exits of @n, from @i on
 *
 * Return: the index of the first other one; the follower has seen it if dep_walk.followed is set.
 */
size_t dep_hot_run(struct dep_walk *w, const u32 *exit, size_t i, size_t n);

/* ---- fold.c ---- */

extern const struct dep_fold dep_contexts_fold;

#endif
