/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The check of encoded contexts.
 *
 * For each stack of a thread there is an encoder's state and a plain stack of the same calls.  The
 * plain stack has all functions, also those that tail calls have replaced, without the loops of
 * tail calls: it is what the state must decode to.  It is made and cut by the simplest rules, which
 * share no code with libdep/context.  Its activations are compared with the frames of the walk.
 * Both have the functions of calls that were made before from one cache, struct check_call.
 *
 * Slots are made up, as the walk does not know all stack pointers: activation number k of a stack
 * has SLOT - k.  The encoder needs only their order.
 *
 * Signal handlers have strands of their own in the walk.  Here they are levels of the stack that
 * they interrupted, as for the encoder.
 */
#ifndef ADEPT_CONTEXT_CHECK_H
#define ADEPT_CONTEXT_CHECK_H

#include "libdep/context/encoder.h"
#include "libdep/contexts/walk.h"

#define CHECK_SLOT	(1ull << 48)
#define CHECK_KEPT	256u	/* records that are decoded again later */
#define CHECK_KEPT_STAMP 8u	/* of one encoding */
#define CHECK_HISTORY	32u	/* dictionaries that are kept */
#define CHECK_SHOWN	10u	/* mismatches that are reported */

/** struct check_entered - a function that is entered; @generation: see code.c */
struct check_entered {
	u64 site, pc;
	u32 image, generation;
	u8 kind;		/* enum dep_cc_kind */
};

/** struct check_function - a function at work, and how it was entered */
struct check_function {
	u64 site;
	u32 node;
	u8 kind;		/* enum dep_cc_kind */
};

/** struct check_activation - @first: its first function; @edge: of the call */
struct check_activation {
	u32 first, edge;
};

/**
 * struct check_level - the part of a stack that belongs to a strand
 * @first: its first activation
 * @split: frame[0] of the strand is an activation of its own: the first function has ended
 */
struct check_level {
	struct check_stack *stack;
	struct dep_strand *strand;	/* NULL: it is gone */
	size_t first;
	bool split;
};

/**
 * struct check_origin - where a thread or process was created
 * @record: the context there; it has the contexts of its creators, too
 * @parent: where the creator was created itself; NULL: not known
 * @function: the plain stack, outermost first
 */
struct check_origin {
	u32 refs;
	struct dep_cc_origin *record;
	struct check_origin *parent;
	struct check_function *function;
	size_t n;
};

/**
 * struct check_stack - the plain stack, outermost first, and the encoder's
 * @origin: of the thread or process whose first function the stack has; NULL: not known
 * @encodings: when @origin was decoded last
 */
struct check_stack {
	struct dep_cc_stack encoded;
	struct check_origin *origin;
	u32 encodings;
	struct check_function *function;
	size_t n, room;
	struct check_activation *activation;
	size_t nactivations, activations_room;
	struct check_level **level;
	size_t nlevels, levels_room;
	size_t strands;			/* levels with a strand */
};

/** struct check_kept - a record that is decoded again; @hash: of the stack then */
struct check_kept {
	struct dep_cc_record record;
	u64 hash, call;
	u32 tid;
	bool used;
};

#define CHECK_CALLS	16384u	/* power of 2 */
#define CHECK_ANY	UINT32_MAX
#define CHECK_EPOCHS	64u

_Static_assert((u64)CHECK_EPOCHS * DEP_CC_MAX <= 1ull << 32, "check_call.caller");

/**
 * struct check_call - a call that was made before; a cache
 * @step, @fragment: of the branch, and that it led to
 * @caller: the function at work, and check.epoch in its upper bits
 * @from, @to: contexts of the walk: in @from, the call leads to @to; CHECK_ANY: in all contexts;
 *	0: not known
 * @known: there is such a call
 * @how, @saves, @add: of the edge
 * @calls: that the edge has not got yet
 * @site, @node, @kind: as in struct check_function
 */
struct check_call {
	u32 step, fragment, caller, from;
	u64 add, site, calls;
	u32 to, edge, node;
	u8 kind;
	u8 how;			/* enum dep_cc_how */
	bool known, saves;
};

/**
 * struct check - the check of a store
 * @next: number of the call that is checked next: all are until a stack was compared, as a check
 *	of nothing finds no error
 * @functions: in all plain stacks, and where threads were created
 * @origin: of the thread at hand
 * @generation: by fragment, of the function that begins there; NULL: functions have their images
 * @first: by fragment, the first one of generated code at its address
 * @version: by such a first fragment, the node that was called last there; 0: none
 * @newest, @older: by image and by node, a node of the same image; 0: none
 * @unmapped: numbers of modules that were unmapped, by time; @next_unmapped: of the thread at hand
 * @retired: by module: its functions are gone
 * @pins: by time stamp, the number of origins whose record needs the dictionary
 * @compared: the stack at work was compared with its frames since the last call
 * @err: the first error; nothing is done after it
 */
struct check {
	const struct dep_context_check_options *options;
	struct dep_context_check *out;
	struct dep_walk *walk;
	struct dep_cc_encoder encoder;
	struct dep_cc_chain chain;
	u64 next, max_id;
	size_t functions;
	struct check_origin *origin;
	u32 *generation, *first, *version, *newest, *older;
	size_t nolder, older_room;
	const struct dep_module *module;
	u32 *unmapped;
	size_t nmodules, nunmapped, next_unmapped;
	bool *retired;
	const struct dep_segment *segment;
	const struct dep_thread *thread;
	u32 *pins;
	size_t npins, pins_room;
	bool compared;
	struct check_call *call;	/* CHECK_CALLS of them */
	u32 epoch;		/* calls of earlier ones are not known any more */
	struct check_kept kept[CHECK_KEPT];
	u32 kept_at, kept_stamp, kept_of_stamp;
	u32 oldest;		/* dictionaries before this one were dropped */
	int err;
};

/* ---- calls that were made before ---- */

/** check_caller() - @node as in check_call.caller */
static inline u32 check_caller(const struct check *c, u32 node)
{
	return node + c->epoch * DEP_CC_MAX;
}

/** check_call_at() - the only place in check.call for this call.  Others can be there */
static inline struct check_call *check_call_at(struct check *c, u32 step, u32 fragment, u32 caller)
{
	u32 h = step * 0x9e3779b1u ^ fragment * 0x85ebca6bu;

	return c->call + ((h ^ h >> 15) + caller) % CHECK_CALLS;
}

static inline bool check_is_call(const struct check_call *k, u32 step, u32 fragment, u32 caller)
{
	return k->step == step && k->fragment == fragment && k->caller == caller && k->known;
}

int check_calls_make(struct check *c);
/** check_calls_count() - count in the graph what the cache has counted */
void check_calls_count(struct check *c);
/** check_calls_forget() - forget all calls, but not their counts */
void check_calls_forget(struct check *c);

/* ---- hot.c ---- */

/** check_run() - see dep_walk_hooks.run */
size_t check_run(void *arg, const u32 *exit, size_t i, size_t n);

/* ---- stack.c ---- */

/** check_slot() - the slot of activation number @n */
static inline u64 check_slot(size_t n)
{
	return CHECK_SLOT - n;
}

/** check_find_level() - the level of the strand at work, with its frames; NULL: an error */
struct check_level *check_find_level(struct check *c);

/** check_level() - the same; nearly always it needs no change */
static inline struct check_level *check_level(struct check *c)
{
	struct dep_strand *strand = c->walk->at;
	struct check_level *l = strand->hooked;

	if (!c->err && l && !l->split && strand->n > 1 &&
	    l->first + strand->n - 1 == l->stack->nactivations &&
	    l->stack->level[l->stack->nlevels - 1] == l)
		return l;
	return check_find_level(c);
}
/**
 * check_enter() - a call, tail call or handler, entered in @s
 * @b: of a call or tail call, to look it up faster; NULL: none
 *
 * Return: 0 or an error.
 */
int check_enter(struct check *c, struct check_stack *s, const struct check_entered *f,
		const struct dep_branch_at *b);
/** check_encode() - make a new encoding; 0 or an error */
int check_encode(struct check *c);
/** check_leave() - activations from @n on have ended, the last one by a return if @returns */
void check_leave(struct check *c, struct check_stack *s, size_t n, u32 handlers, bool returns);
/** check_add_level() - the activations from the next one on belong to @strand; NULL: no memory */
struct check_level *check_add_level(struct check *c, struct check_stack *s,
				    struct dep_strand *strand);
void check_drop_level(struct check_stack *s);
/** check_cut() - only the first @n activations remain, in the plain stack alone */
void check_cut(struct check *c, struct check_stack *s, size_t n);
/** check_forget() - forget a stack: it is begun anew with the frames at the next call */
void check_forget(struct check *c, struct check_stack *s);

/* ---- code.c ---- */

/** check_code_make() - after the walk has its store and code; 0 or -ENOMEM */
int check_code_make(struct check *c);
void check_code_free(struct check *c);
/** check_image() - the image of @node; 0: none */
u32 check_image(const struct check *c, u32 node);
/** check_generation() - of the function at @pc; @fragment: begins there; -1: any that does */
u32 check_generation(const struct check *c, u32 image, s64 fragment, u64 pc);
/** check_code_now() - retire functions whose file was unmapped before the segment at hand */
void check_code_now(struct check *c);
/** check_code_called() - a call of @node was looked up; @added: it is the first; 0 or -ENOMEM */
int check_code_called(struct check *c, u32 node, bool added);
/** check_code_gone() - number of functions that are retired */
u64 check_code_gone(const struct check *c);

/* ---- origin.c ---- */

/** check_origin_new() - the thread at hand creates another one; NULL: that is not kept */
struct check_origin *check_origin_new(struct check *c, struct check_stack *s);
struct check_origin *check_origin_get(struct check_origin *o);
void check_origin_put(struct check *c, struct check_origin *o);
/** check_origin_same() - decode the origins of @s: NULL, or what differs; can set the error */
const char *check_origin_same(struct check *c, struct check_stack *s);
/** check_is_pinned() - true if the dictionary of @stamp is needed for an origin */
bool check_is_pinned(const struct check *c, u32 stamp);

/* ---- compare.c ---- */

/** check_is_due() - true if the call that was made last is to be checked */
static inline bool check_is_due(const struct check *c)
{
	return c->out->calls >= c->next;
}

/** check_next() - decide which call is checked after the one that was made last */
void check_next(struct check *c, const struct check_stack *s);
/** check_context() - record the context of @s and decode it; forgets @s after a mismatch */
void check_context(struct check *c, struct check_stack *s);
/** check_frames() - compare the activations of @l with the frames of its strand, if possible */
bool check_frames(struct check *c, struct check_level *l);
/** check_same_function() - NULL if frame @f is function @is, or what differs */
const char *check_same_function(const struct dep_cc_frame *f, const struct check_function *is);
/** check_same() - NULL if @chain is the stack @s, or what differs */
const char *check_same(const struct dep_cc_chain *chain, const struct check_stack *s);
/** check_failed() - count a mismatch and report it; @decoded: NULL: none */
void check_failed(struct check *c, const char *why, const struct dep_cc_chain *decoded,
		  const struct check_stack *s);

/* ---- late.c ---- */

/** check_keep() - keep @r, which decodes to @chain, to decode it after later encodings; takes @r */
void check_keep(struct check *c, struct dep_cc_record *r, const struct dep_cc_chain *chain);
/** check_late() - decode kept records of dictionaries before @stamp */
void check_late(struct check *c, u32 stamp);
/** check_encoded() - a new encoding was made: drop the oldest dictionary if there are many */
void check_encoded(struct check *c);

/* ---- hooks.c ---- */

extern const struct dep_walk_hooks check_hooks;

#endif
