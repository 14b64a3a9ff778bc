// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The hot loop: calls, returns and jumps as nearly all are.
 *
 * The stack pointer is known, a call pushes below the last frame, a return goes back to that, and
 * the transition to the other context was made before.  What is needed stays in registers.
 */
#include "walk.h"

/* ---- exits ---- */

static bool fits(u32 n)
{
	return n <= UINT8_MAX;
}

static u8 op_of(const struct dep_exit_move *x)
{
	if (x->move.how != DEP_RSP_ADD || x->move.flags & DEP_MOVE_FRAMES)
		return DEP_HOT_OTHER;
	switch (x->op) {
	case DEP_OP_PLAIN:
		return DEP_HOT_PLAIN;
	case DEP_OP_CALL:
		return DEP_HOT_CALL;
	case DEP_OP_RETURN:
		return DEP_HOT_RETURN;
	case DEP_OP_JUMP:
		return x->move.flags & DEP_MOVE_POINTER ? DEP_HOT_TAIL : DEP_HOT_JUMP;
	case DEP_OP_TAIL:
		return DEP_HOT_TAIL;
	default:
		return DEP_HOT_OTHER;
	}
}

void dep_moves_make_hot(struct dep_moves *m)
{
	const struct dep_exit_move *x;
	struct dep_exit_hot *to;
	u32 i;

	/* Number 0 is no exit. */
	for (i = 1; i < m->code->nexits; i++) {
		x = m->exit + i;
		to = m->hot + i;
		*to = (struct dep_exit_hot){
			.op = DEP_HOT_OTHER, .fragment = x->fragment, .next = x->next,
			.start = m->code->fragment[x->fragment].pc, .step = x->step,
		};
		if (!fits(x->insns) || !fits(x->refs) || !fits(x->branches))
			continue;
		to->op = op_of(x);
		if (to->op == DEP_HOT_OTHER)
			continue;
		to->by = x->move.by;
		to->insns = (u8)x->insns;
		to->refs = (u8)x->refs;
		to->branches = (u8)x->branches;
		if (to->op == DEP_HOT_RETURN)
			to->step = 8 + x->move.pops;
	}
}

/* ---- the loop ---- */

/* dep_walk, as far as the loop changes it.  @top is the last frame, @end: no frame fits there */
struct hot {
	u64 rsp, insns, refs;
	u32 branches, ctx;
	struct dep_activation *top, *end;
};

static void begin(const struct dep_walk *w, struct hot *h)
{
	size_t room = w->at->room - w->at->n;

	if (w->max_frames < w->nframes_all)
		room = 0;
	else if (w->max_frames - w->nframes_all < room)
		room = w->max_frames - w->nframes_all;
	h->rsp = w->rsp;
	h->insns = w->insns;
	h->refs = w->refs;
	h->branches = w->branches;
	h->ctx = w->ctx;
	h->top = dep_top(w);
	h->end = h->top + room;
}

static void end(struct dep_walk *w, const struct hot *h)
{
	size_t n = (size_t)(h->top - w->at->frame) + 1;

	w->nframes_all += n - w->at->n;
	w->at->n = n;
	w->rsp = h->rsp;
	w->insns = h->insns;
	w->refs = h->refs;
	w->branches = h->branches;
	w->ctx = h->ctx;
}

/* Context @ctx in the tree, if the thread has used it before; otherwise NULL. */
static inline struct dep_node_now *used(const struct dep_walk *w, u32 ctx)
{
	struct dep_node_now *now = w->tree.now + ctx;

	return now->used && now->timed >= w->tree.by_segment ? now : NULL;
}

static inline bool flush(const struct dep_walk *w, struct hot *h)
{
	struct dep_node_now *now = used(w, h->ctx);

	if (!now)
		return false;
	now->insns += h->insns;
	now->refs += h->refs;
	h->insns = h->refs = 0;
	return true;
}

/* The context of a transition that was made before, with its entry counted; 0: look for it. */
static inline u32 go_to(const struct dep_walk *w, struct hot *h, u32 kind, u32 step, u64 pc)
{
	const struct dep_step_to *c = dep_step_to(w, h->ctx, kind, step, pc);
	struct dep_node_now *now;

	if (!dep_is_step_to(w, c, h->ctx, kind, step, pc))
		return 0;
	if (c->to == h->ctx && kind == DEP_CONTEXT_TAIL)
		return c->to;
	now = used(w, c->to);
	if (!now || !flush(w, h))
		return 0;
	now->calls++;
	return c->to;
}

static inline bool call(const struct dep_walk *w, struct hot *h, const struct dep_exit_hot *x,
			u64 to)
{
	u64 slot = h->rsp - 8;
	u32 ctx;

	if (h->top->seg || slot >= h->top->slot || h->top >= h->end || to == x->next)
		return false;
	ctx = go_to(w, h, DEP_CONTEXT_CALL, x->step, to);
	if (!ctx)
		return false;
	h->top++;
	h->top->ret = x->next;
	h->top->slot = slot;
	h->top->frame = 0;
	h->top->ctx = ctx;
	h->top->seg = 0;
	h->rsp = slot;
	h->ctx = ctx;
	return true;
}

static inline bool go_back(const struct dep_walk *w, struct hot *h, const struct dep_exit_hot *x,
			   u64 to)
{
	if (h->top->ret != to || h->top->slot != h->rsp || h->top->seg ||
	    h->top <= w->at->frame + 1 || !flush(w, h))
		return false;
	h->top--;
	h->ctx = h->top->ctx;
	h->rsp += x->step;
	return true;
}

static inline bool jump(const struct dep_walk *w, struct hot *h, const struct dep_exit_hot *x,
			const struct dep_exit_hot *to)
{
	u32 ctx;

	if (h->top->seg)
		return false;
	if (h->top->slot != h->rsp)
		return true;
	if (h->top <= w->at->frame + 1 ||
	    (x->op == DEP_HOT_JUMP && !w->moves->entry[to->fragment]))
		return false;
	ctx = go_to(w, h, DEP_CONTEXT_TAIL, x->step, to->start);
	if (!ctx)
		return false;
	h->top->ctx = ctx;
	h->ctx = ctx;
	return true;
}

size_t dep_hot_run(struct dep_walk *w, const u32 *exit, size_t i, size_t n)
{
	const struct dep_exit_hot *all = w->moves->hot, *x, *to;
	bool known = w->state == DEP_KNOWN && !w->anew && !w->watch, done = true;
	struct hot h;

	begin(w, &h);
	for (; i < n; i++) {
		x = all + exit[i];
		h.insns += x->insns;
		h.refs += x->refs;
		h.rsp += (u64)(s64)x->by;
		h.branches += x->branches;
		if (x->op == DEP_HOT_PLAIN)
			continue;
		done = known && i + 1 < n;
		if (!done)
			break;
		to = all + exit[i + 1];
		if (!to->start)
			done = false;
		else if (x->op == DEP_HOT_CALL)
			done = call(w, &h, x, to->start);
		else if (x->op == DEP_HOT_RETURN)
			done = go_back(w, &h, x, to->start);
		else
			done = x->op != DEP_HOT_OTHER && jump(w, &h, x, to);
		if (!done)
			break;
	}
	if (!done) {
		h.insns -= x->insns;
		h.refs -= x->refs;
		h.rsp -= (u64)(s64)x->by;
		h.branches -= x->branches;
	}
	end(w, &h);
	return i;
}
