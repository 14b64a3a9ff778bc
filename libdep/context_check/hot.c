// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The hot loop with an encoder: calls, returns and tail calls as nearly all are.
 *
 * libdep/contexts/hot.c has the same loop for others.  Here the walk's frames, the plain stack and
 * the encoder's state change together, and what they need of a call that was made before is in one
 * struct check_call.  Contexts are not counted, as nobody asks for them.
 *
 * Whatever else can happen goes through the hooks: a call that is not known, an edge that is not
 * encoded, a sample, a call that is checked, a mismatch.
 */
#include "libdep/context/state_parts.h"
#include "check.h"

#define ALWAYS_INLINE	inline __attribute__((always_inline))

/*
 * struct hot - the walk, the plain stack and the state, as far as the loop changes them
 * @sum: of dep_exit_hot.add
 * @top: the last frame; @end: no frame fits there
 * @level: whose stack it is; NULL: all goes through the hooks
 * @function: the next one of the plain stack; @function_end: none fits there
 * @activation: the last one, whose slot is @slot
 * @saved: the next saved id, @saved_slot: of the last one; UINT64_MAX: there is none
 * @entry_slot: of the last entry that is no handler, or UINT64_MAX
 * @at: dep_cc_state.function
 * @left: calls up to the next sample, or that are not checked, of @allowed
 */
struct hot {
	u64 rsp, sum;
	struct dep_activation *top, *end;
	struct check_level *level;
	struct check_stack *stack;
	struct check_function *function, *function_end;
	struct check_activation *activation;
	struct dep_cc_saved *saved, *saved_end;
	u64 slot, saved_slot, entry_slot;
	u64 id, left, allowed, saves;
	u32 at;
};

/* ---- between the loop, and the walk with its hooks ---- */

static ALWAYS_INLINE void write_walk(struct dep_walk *w, const struct hot *h)
{
	size_t n = (size_t)(h->top - w->at->frame) + 1;

	w->nframes_all += n - w->at->n;
	w->at->n = n;
	w->ctx = h->top->ctx;
}

/* Count the calls since the last time.  The ccStack has not changed in between. */
static void count_calls(struct check *c, struct hot *h)
{
	const struct dep_cc_state *st = &h->stack->encoded.state;
	struct dep_cc_counts *counts = &c->encoder.counts;
	u64 calls = h->allowed - h->left;

	counts->calls += calls;
	counts->saves += h->saves;
	c->out->calls += calls;
	if (st->n) {
		counts->depth += calls * st->n;
		counts->compressed += calls * st->entry[st->n - 1].runs;
	}
	h->allowed = h->left;
	h->saves = 0;
}

static void write_state(struct hot *h)
{
	struct dep_cc_state *st = &h->stack->encoded.state;

	st->id = h->id;
	st->function = h->at;
	st->nsaved = (size_t)(h->saved - st->saved);
}

static void write_back(struct check *c, struct hot *h)
{
	struct check_stack *s = h->stack;
	size_t n;

	write_walk(c->walk, h);
	if (!h->level)
		return;
	count_calls(c, h);
	write_state(h);
	n = (size_t)(h->function - s->function);
	c->functions += n - s->n;
	s->n = n;
	s->nactivations = (size_t)(h->activation - s->activation) + 1;
}

/* Number of calls up to the next sample, or to one that is checked and has to go by the hook. */
static u64 calls_left(const struct check *c)
{
	u64 sample = c->encoder.sample - c->encoder.counts.calls % c->encoder.sample;
	u64 check = c->next > c->out->calls ? c->next - 1 - c->out->calls : 0;

	/* At the first call in a segment, functions whose code is gone are retired. */
	if (c->err || c->segment != c->walk->segment)
		return 0;
	return sample < check ? sample : check;
}

static u64 saved_slot(const struct hot *h)
{
	return h->saved == h->stack->encoded.state.saved ? UINT64_MAX : h->saved[-1].rsp;
}

static u64 entry_slot(const struct dep_cc_state *st)
{
	if (!st->n || st->entry[st->n - 1].kind == DEP_CC_HANDLER)
		return UINT64_MAX;
	return st->entry[st->n - 1].rsp;
}

/* Functions that there is room for, also by the limit of check_enter(). */
static size_t functions_room(const struct check *c, const struct check_stack *s)
{
	size_t limit = 2 * c->walk->max_frames + 1024;
	size_t more = limit > c->functions ? limit - c->functions : 0;
	size_t room = s->room < s->activations_room ? s->room : s->activations_room;

	return room - s->n < more ? room - s->n : more;
}

/* The stack at work, behind a hook that has perhaps changed it. */
static void load(struct check *c, struct hot *h)
{
	struct check_level *l = c->walk->at->hooked;
	size_t frames = (size_t)(h->top - c->walk->at->frame);
	struct dep_cc_state *st;
	struct check_stack *s;

	h->level = NULL;
	h->left = h->allowed = h->saves = 0;
	if (c->err || !l || l->split || !frames || l->first + frames != l->stack->nactivations ||
	    l->stack->level[l->stack->nlevels - 1] != l)
		return;
	s = l->stack;
	st = &s->encoded.state;
	h->level = l;
	h->stack = s;
	h->function = s->function + s->n;
	h->function_end = h->function + functions_room(c, s);
	h->activation = s->activation + s->nactivations - 1;
	h->slot = check_slot(s->nactivations - 1);
	h->saved = h->saved_end = st->saved;
	if (st->saved) {
		h->saved += st->nsaved;
		h->saved_end += st->saved_room < st->max ? st->saved_room : st->max;
	}
	h->saved_slot = saved_slot(h);
	h->entry_slot = entry_slot(st);
	h->id = st->id;
	h->at = st->function;
	h->left = h->allowed = calls_left(c);
}

/* ---- calls ---- */

/* Make a call or tail call by its hook.  Return: false after an error; the next hook returns it. */
static __attribute__((noinline)) bool hook(struct check *c, struct hot *h,
					   const struct dep_exit_hot *x,
					   const struct dep_exit_hot *to,
					   int (*make)(void *arg, const struct dep_branch_at *b))
{
	struct dep_walk *w = c->walk;
	const struct dep_branch_at b = {
		.step = w->code->step + x->step,
		.move = &w->moves->exit[x - w->moves->hot].move,
		.step_number = x->step, .fragment = x->fragment,
		.to = to->start, .to_fragment = to->fragment,
	};

	write_back(c, h);
	if (!make(c, &b))
		return true;
	/* What the hook has changed is not written over at the end. */
	h->level = NULL;
	return false;
}

/* The walk's context of a call that was made before; 0: it is not known. */
static __attribute__((noinline)) u32 find_context(const struct check *c, struct check_call *k,
						  u32 from, u32 kind,
						  const struct dep_exit_hot *to)
{
	const struct dep_walk *w = c->walk;
	const struct dep_step_to *t = dep_step_to(w, from, kind, k->step, to->start);

	if (!dep_is_step_to(w, t, from, kind, k->step, to->start, to->fragment))
		return 0;
	k->from = from;
	k->to = t->to;
	/* Without paths, a call has one context, wherever it comes from. */
	if (w->flat && kind == DEP_CONTEXT_CALL)
		k->from = CHECK_ANY;
	return k->to;
}

static ALWAYS_INLINE u32 context(const struct check *c, struct check_call *k, u32 from, u32 kind,
				 const struct dep_exit_hot *to)
{
	if (k->from == from || k->from == CHECK_ANY)
		return k->to;
	return find_context(c, k, from, kind, to);
}

/* What is known of a call; NULL: nothing. */
static ALWAYS_INLINE struct check_call *known(struct check *c, const struct hot *h,
					      const struct dep_exit_hot *x,
					      const struct dep_exit_hot *to)
{
	u32 caller = check_caller(c, h->at);
	struct check_call *k = check_call_at(c, x->step, to->fragment, caller);

	return check_is_call(k, x->step, to->fragment, caller) ? k : NULL;
}

static ALWAYS_INLINE void push_function(struct hot *h, const struct check_call *k)
{
	struct check_function *f = h->function++;

	f->site = k->site;
	f->node = k->node;
	f->kind = k->kind;
}

/* A call that is not encoded.  Return: false if it has to go through the hook. */
static __attribute__((noinline)) bool push_entry(struct check *c, struct hot *h,
						 const struct check_call *k)
{
	struct dep_cc_state *st = &h->stack->encoded.state;

	count_calls(c, h);
	write_state(h);
	if (dep_cc_state_push(st, k->site, k->node, k->kind, h->slot - 1))
		return false;
	dep_cc_state_count(st, true, k->how);
	c->out->calls++;
	h->allowed--;
	h->left--;
	h->entry_slot = h->slot - 1;
	h->id = st->id;
	h->at = st->function;
	return true;
}

/* The encoder's part of a call.  Return: false if it has to go through the hook. */
static ALWAYS_INLINE bool encode_call(struct check *c, struct hot *h, struct check_call *k)
{
	if (!h->left || h->function >= h->function_end)
		return false;
	if (k->how != DEP_CC_ENCODED) {
		if (!push_entry(c, h, k))
			return false;
	} else {
		if (k->saves) {
			if (h->saved >= h->saved_end)
				return false;
			h->saved->rsp = h->saved_slot = h->slot - 1;
			h->saved->id = h->id;
			h->saved->function = h->at;
			h->saved++;
			h->saves++;
		}
		h->left--;
		h->id += k->add;
		h->at = k->node;
	}
	h->slot--;
	k->calls++;
	h->activation++;
	h->activation->first = (u32)(h->function - h->stack->function);
	h->activation->edge = k->edge;
	push_function(h, k);
	return true;
}

/* Behind a call when no more can be made: it is a sample, or the next one goes by the hook. */
static __attribute__((noinline)) void sample(struct check *c, struct hot *h, u32 edge)
{
	write_back(c, h);
	if (dep_cc_encoder_sample(&c->encoder, edge))
		check_encode(c);
	load(c, h);
}

static ALWAYS_INLINE bool call(struct check *c, struct hot *h, const struct dep_exit_hot *x,
			       const struct dep_exit_hot *to)
{
	u64 slot = h->rsp - 8, ret = x->start + (u64)(s64)x->next;
	struct check_call *k;
	bool by_hook;
	u32 ctx;

	if (h->top->seg || slot >= h->top->slot || h->top >= h->end || to->start == ret ||
	    !h->level)
		return false;
	k = known(c, h, x, to);
	ctx = k ? context(c, k, h->top->ctx, DEP_CONTEXT_CALL, to) : 0;
	if (!ctx)
		return false;
	by_hook = !encode_call(c, h, k);
	if (by_hook && !hook(c, h, x, to, check_hooks.call))
		return false;
	h->rsp = slot;
	h->top++;
	h->top->ret = ret;
	h->top->slot = slot;
	h->top->frame = 0;
	h->top->ctx = ctx;
	h->top->seg = 0;
	if (by_hook)
		load(c, h);
	else if (!h->left)
		sample(c, h, k->edge);
	return true;
}

/* ---- tail calls ---- */

static ALWAYS_INLINE bool encode_tail(struct hot *h, struct check_call *k)
{
	struct check_function *f;

	if (k->how != DEP_CC_ENCODED || !h->left || h->function >= h->function_end)
		return false;
	/* A loop is cut by the hook. */
	for (f = h->stack->function + h->activation->first; f < h->function; f++)
		if (f->node == k->node)
			return false;
	h->left--;
	h->id += k->add;
	h->at = k->node;
	k->calls++;
	push_function(h, k);
	return true;
}

static ALWAYS_INLINE bool jump(struct check *c, struct hot *h, const struct dep_exit_hot *x,
			       const struct dep_exit_hot *to)
{
	struct check_call *k;
	bool by_hook;
	u32 ctx;

	if (h->top->seg)
		return false;
	if (h->top->slot != h->rsp)
		return true;
	if (h->top <= c->walk->at->frame + 1 || (x->op == DEP_HOT_JUMP && !to->entry) || !h->level)
		return false;
	k = known(c, h, x, to);
	ctx = k ? context(c, k, h->top->ctx, DEP_CONTEXT_TAIL, to) : 0;
	if (!ctx || ctx == h->top->ctx)
		return false;
	by_hook = !encode_tail(h, k);
	if (by_hook && !hook(c, h, x, to, check_hooks.tail))
		return false;
	h->top->ctx = ctx;
	if (by_hook)
		load(c, h);
	else if (!h->left)
		sample(c, h, k->edge);
	return true;
}

/* ---- returns ---- */

/* Undo a call that was not encoded.  Return: false if the return has to go through the hook. */
static __attribute__((noinline)) bool pop_entry(struct check *c, struct hot *h, u32 function)
{
	struct dep_cc_state *st = &h->stack->encoded.state;
	const struct dep_cc_entry *e = st->entry + st->n - 1;

	/* Tail calls have further entries with this slot. */
	if (h->entry_slot != h->slot || h->saved_slot <= h->slot || e->kind == DEP_CC_TAIL ||
	    e->caller != function)
		return false;
	count_calls(c, h);
	st->n--;
	h->entry_slot = entry_slot(st);
	h->id = e->id;
	return true;
}

/* Undo an encoded call.  Return: the same. */
static ALWAYS_INLINE bool undo_call(const struct check *c, struct hot *h, u32 function)
{
	const struct dep_cc_encoding *e = &c->encoder.encoding;
	u64 max_id = e->dictionary->max_id, base = h->id > max_id ? max_id + 1 : 0;
	u32 edge = h->activation->edge;
	const struct dep_cc_code *code = e->code + edge;

	if (edge >= e->nedges || code->how != DEP_CC_ENCODED || code->caller != function ||
	    code->add > h->id - base)
		return false;
	h->id -= code->add;
	return true;
}

/* The encoder's part of a return.  Return: the same. */
static ALWAYS_INLINE bool encode_return(struct check *c, struct hot *h)
{
	u32 first = h->activation->first, function = h->stack->function[first - 1].node;

	if (h->entry_slot <= h->slot) {
		if (!pop_entry(c, h, function))
			return false;
	} else if (h->saved_slot == h->slot) {
		if (h->saved[-1].function != function)
			return false;
		h->saved--;
		h->id = h->saved->id;
		h->saved_slot = saved_slot(h);
	} else if (h->saved_slot < h->slot || !undo_call(c, h, function)) {
		return false;
	}
	h->at = function;
	h->slot++;
	h->function = h->stack->function + first;
	h->activation--;
	return true;
}

static __attribute__((noinline)) void return_hook(struct check *c, struct hot *h)
{
	write_back(c, h);
	check_hooks.returns(c);
}

static ALWAYS_INLINE bool go_back(struct check *c, struct hot *h, const struct dep_exit_hot *x,
				  const struct dep_exit_hot *to)
{
	bool by_hook;

	if (h->top->ret != to->start || h->top->slot != h->rsp || h->top->seg ||
	    h->top <= c->walk->at->frame + 1)
		return false;
	by_hook = !h->level || !encode_return(c, h);
	if (by_hook)
		return_hook(c, h);
	h->rsp += x->step;
	h->top--;
	if (by_hook)
		load(c, h);
	return true;
}

/* ---- the loop ---- */

static ALWAYS_INLINE bool branch(struct check *c, struct hot *h, const struct dep_exit_hot *x,
				 const struct dep_exit_hot *to)
{
	if (!to->start)
		return false;
	switch (x->op) {
	case DEP_HOT_CALL:
		return call(c, h, x, to);
	case DEP_HOT_RETURN:
		return go_back(c, h, x, to);
	case DEP_HOT_JUMP:
	case DEP_HOT_TAIL:
		return jump(c, h, x, to);
	default:
		return false;
	}
}

/* Return: false if only exits without branches are common now. */
static bool begin(struct check *c, struct hot *h)
{
	struct dep_walk *w = c->walk;

	h->rsp = w->rsp;
	h->sum = 0;
	h->top = dep_top(w);
	h->end = h->top + dep_strand_left(w);
	load(c, h);
	return w->state == DEP_KNOWN && !w->anew && w->ctx == h->top->ctx;
}

static void end(struct check *c, struct hot *h)
{
	struct dep_walk *w = c->walk;

	write_back(c, h);
	w->rsp = h->rsp;
	w->branches += (u32)(h->sum >> 2 * DEP_HOT_BITS);
}

size_t check_run(void *arg, const u32 *exit, size_t i, size_t n)
{
	struct check *c = arg;
	const struct dep_exit_hot *all = c->walk->moves->hot, *x;
	const u32 *at = exit + i, *last = exit + n;
	struct hot h;
	bool known = begin(c, &h);

	for (; at < last; at++) {
		x = all + *at;
		h.sum += x->add;
		h.rsp += (u64)(s64)x->by;
		if (x->op == DEP_HOT_PLAIN)
			continue;
		if (!known || at + 1 == last || !branch(c, &h, x, all + at[1])) {
			h.sum -= x->add;
			h.rsp -= (u64)(s64)x->by;
			break;
		}
	}
	end(c, &h);
	return (size_t)(at - exit);
}
