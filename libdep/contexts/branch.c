// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Calls, returns and jumps in the general case.  hot.c has the common cases.
 *
 * That a return goes to the return address of the last frame does not prove that it is that
 * frame's: a landing pad of an exception can be directly behind a call.
 */
#include <errno.h>

#include "walk.h"

/* rsp becomes @base + @by, if @base is known. */
static void rsp_from(struct dep_walk *w, u64 base, s64 by)
{
	w->rsp = base + (u64)by;
	w->state = base ? DEP_KNOWN : DEP_WITHIN;
}

void dep_branch_change(struct dep_walk *w, const struct dep_move *move,
		       const struct dep_align *align)
{
	struct dep_activation *top = dep_top(w);
	u64 before = w->state == DEP_KNOWN ? w->rsp : 0;

	switch (move->how) {
	case DEP_RSP_ADD:
		w->rsp += (u64)(s64)move->by;
		break;
	case DEP_RSP_ALIGN:
		w->rsp = ((w->rsp + (u64)align->before) & align->mask) + (u64)align->after;
		break;
	case DEP_RSP_RBP:
		rsp_from(w, top->frame, move->by);
		break;
	case DEP_RSP_ENTRY:
		rsp_from(w, top->seg ? 0 : top->slot, 0);
		break;
	case DEP_RSP_MOVED:
		if (w->state != DEP_ANEW)
			w->state = DEP_WITHIN;
		break;
	default:
		w->state = DEP_ANEW;
		w->anew = true;
		break;
	}
	if (move->flags & DEP_MOVE_FRAME)
		top->frame = before ? before + (u64)(s64)move->frame : 0;
	else if (move->flags & DEP_MOVE_FRAME_BEHIND)
		top->frame = w->state == DEP_KNOWN ? w->rsp + (u64)(s64)move->frame : 0;
}

static void set_rsp(struct dep_walk *w, u64 rsp)
{
	w->rsp = rsp;
	w->state = DEP_KNOWN;
	w->anew = false;
}

static bool is_entry(const struct dep_walk *w, const struct dep_branch_at *b)
{
	return b->to_fragment >= 0 && w->moves->entry[b->to_fragment];
}

/* A stack that was not seen before: its first function is entered with @rsp. */
static int begin_stack(struct dep_walk *w, const struct dep_branch_at *b, u64 rsp)
{
	u32 ctx = dep_context_of(w, DEP_CONTEXT_CALL, b);

	if (ctx == DEP_NO_NODE || dep_strand_begin(w, rsp, ctx))
		return -ENOMEM;
	return dep_count_enter(w, ctx);
}

static int enter_tail(struct dep_walk *w, const struct dep_branch_at *b)
{
	struct dep_activation *top = dep_top(w);
	int err;
	u32 ctx;

	err = w->hooks ? w->hooks->tail(w->hooks_arg, b) : 0;
	if (err)
		return err;
	ctx = dep_context_tail(w, b);
	if (ctx == w->ctx)
		return 0;
	if (ctx == DEP_NO_NODE || dep_count_flush(w))
		return -ENOMEM;
	top->ctx = ctx;
	if (w->at->n <= 2)
		w->at->frame[0].ctx = ctx;
	w->ctx = ctx;
	return dep_count_enter(w, ctx);
}

/* The function that calls may have changed to another stack, or back from it. */
static int find_for_call(struct dep_walk *w)
{
	const struct dep_strand *at = w->at;
	u32 ctx = w->ctx;

	if (dep_strand_find(w, w->rsp, DEP_NEAR) && (w->at == at || w->gone < 2))
		return 0;
	/* A new stack, or one whose memory is used again: not where it was left. */
	return dep_strand_begin(w, w->rsp, ctx);
}

int dep_branch_call(struct dep_walk *w, const struct dep_branch_at *b)
{
	struct dep_activation f = { .ret = b->step->next };
	u64 sp = 0;
	int err;

	if (dep_count_flush(w))
		return -ENOMEM;
	if (w->state == DEP_ANEW || (w->state != DEP_KNOWN && w->learned[0].seg == w->seg))
		sp = dep_learn_last(w);
	if (sp) {
		w->rsp = sp + 8;
		w->state = DEP_KNOWN;
	}
	if (w->state == DEP_KNOWN && (sp || w->rsp > w->at->high) && find_for_call(w))
		return -ENOMEM;
	if (w->state == DEP_KNOWN) {
		f.slot = w->rsp - 8;
		/* Frames whose slot is not known are judged where rsp was set anew. */
		while (!dep_top(w)->seg && dep_top(w)->slot <= f.slot) {
			dep_strand_ended(w, w->at, w->at->n - 1, w->at->n);
			w->at->n--;
			w->nframes_all--;
		}
		w->ctx = dep_top(w)->ctx;
	} else {
		f.slot = w->branches - 1;
		f.seg = w->seg;
		w->state = DEP_WITHIN;
	}
	w->rsp -= 8;
	w->anew = false;
	if (w->watch)
		w->watch(w->watch_arg, &(struct dep_watched_call){
			.thread = w->thread->serial, .pc = b->step->pc,
			.slot = dep_top(w)->seg ? 0 : dep_top(w)->slot, .depth = w->at->n,
		});
	err = w->hooks ? w->hooks->call(w->hooks_arg, b) : 0;
	if (err)
		return err;
	f.ctx = w->ctx;
	if (!b->to || b->to == b->step->next)
		return dep_strand_push(w, &f);
	f.ctx = dep_context_of(w, DEP_CONTEXT_CALL, b);
	if (f.ctx == DEP_NO_NODE || dep_strand_push(w, &f))
		return -ENOMEM;
	return dep_count_enter(w, f.ctx);
}

static void pop(struct dep_walk *w)
{
	if (w->hooks)
		w->hooks->returns(w->hooks_arg);
	if (w->at->n > 1) {
		dep_strand_ended(w, w->at, w->at->n - 1, w->at->n);
		w->at->n--;
		w->nframes_all--;
	}
	w->ctx = dep_top(w)->ctx;
}

/* True if the function at work was called before the recording began. */
static bool is_incomplete(const struct dep_walk *w)
{
	const struct dep_node *node = w->tree.node + w->ctx;

	while (node->kind == DEP_CONTEXT_TAIL)
		node = w->tree.node + node->parent;
	return node->kind == DEP_CONTEXT_START && node->incomplete;
}

/* The first function of a stack returns.  @rsp: that behind it; 0: not known. */
static int return_from_first(struct dep_walk *w, const struct dep_branch_at *b, u64 rsp)
{
	u32 ctx;

	w->state = DEP_WITHIN;
	w->anew = false;
	dep_strand_ended(w, w->at, w->at->n - 1, w->at->n);
	if (w->at->handler)
		return 0;	/* to the code that calls sigreturn */
	w->unknown_returns++;
	if (!is_incomplete(w) || !b->to)
		return 0;
	/* What it returns to was called before the recording began. */
	ctx = dep_context_new(w, 0, DEP_CONTEXT_START, 0, -1, b->to, b->to_fragment, true);
	if (ctx == DEP_NO_NODE)
		return -ENOMEM;
	if (rsp > w->at->high && dep_strand_begin(w, rsp, ctx))
		return -ENOMEM;
	if (w->hooks)
		w->hooks->changed(w->hooks_arg, w->at);
	w->at->frame[0].ctx = dep_top(w)->ctx = w->ctx = ctx;
	return dep_count_enter(w, ctx);
}

/* A return with the stack pointer @sp in front of it. */
static int return_at(struct dep_walk *w, const struct dep_branch_at *b, u64 sp)
{
	u64 after = sp + 8 + b->move->pops, ret = dep_top(w)->ret;
	const struct dep_strand *at = w->at;
	struct dep_activation *top;
	size_t n = w->at->n;
	bool anew = w->anew;
	int err;

	if (!dep_strand_find(w, sp, anew ? DEP_NEAR_RETURN : DEP_NEAR)) {
		err = 0;
		if (anew && b->to)
			err = begin_stack(w, b, after);
		else if (sp >= w->at->high || w->at->n < 2)
			err = return_from_first(w, b, after);
		else
			w->unknown_returns++;
		set_rsp(w, after);
		return err;
	}
	top = dep_top(w);
	if (w->at->n == 2 && dep_strand_slot(w, top) == sp) {
		err = return_from_first(w, b, after);
		set_rsp(w, after);
		return err;
	}
	set_rsp(w, after);
	if (w->at->n > 2 && dep_strand_slot(w, top) == sp) {
		pop(w);
		if (b->to == top->ret || !is_entry(w, b) || !b->to)
			return 0;
	} else if (w->at->n > 2 && top->seg && top->ret == b->to) {
		pop(w);
		return 0;
	} else if (w->at->n == 2 && anew && dep_top(w)->slot == after && b->to) {
		/* A stack that was used before begins anew. */
		return begin_stack(w, b, after);
	} else if (!is_entry(w, b)) {
		if (w->at == at && n > 2 && w->at->n == n && ret == b->to && b->to)
			pop(w);	/* it has moved its return address down, as code of V8 does */
		else
			w->unknown_returns += w->at->n >= n || ret != b->to;
		return 0;
	}
	/* A return that calls: its address was written to the stack. */
	if (dep_strand_slot(w, dep_top(w)) == after)
		return enter_tail(w, b);
	return 0;
}

/* A return to the last frame, as nearly all are, also if other stacks have this address. */
static bool matches(const struct dep_walk *w, const struct dep_branch_at *b)
{
	const struct dep_activation *top = dep_top(w);

	return w->state == DEP_KNOWN && w->at->n > 2 && b->to && b->to == top->ret &&
	       !top->seg && top->slot == w->rsp;
}

int dep_branch_return(struct dep_walk *w, const struct dep_branch_at *b)
{
	struct dep_activation *top = dep_top(w);
	u64 sp;

	if (dep_count_flush(w))
		return -ENOMEM;
	if (matches(w, b)) {
		set_rsp(w, w->rsp + 8 + b->move->pops);
		pop(w);
		return 0;
	}
	/* Code that changes to another stack can look like the end of a function. */
	if (b->move->how == DEP_RSP_ENTRY && b->to && b->to != top->ret) {
		w->state = DEP_ANEW;
		w->anew = true;
	}
	if (w->state == DEP_KNOWN)
		return return_at(w, b, w->rsp);
	if (w->state != DEP_ANEW) {
		if (w->at->n > 2 && b->to == top->ret && b->to) {
			/* Code of V8 returns from behind its arguments, so rsp is not known. */
			w->state = DEP_WITHIN;
			pop(w);
			return 0;
		}
		if (w->at->n <= 2 && (w->at->handler || is_incomplete(w)))
			return return_from_first(w, b, 0);
	}
	sp = dep_learn_last(w);
	if (sp)
		return return_at(w, b, sp - 8 - b->move->pops);
	w->unknown_returns++;
	w->state = DEP_WITHIN;
	w->anew = false;
	if (w->at->n > 2 && b->to == top->ret && b->to)
		pop(w);
	return 0;
}

/* Does an indirect jump, at the stack pointer of the function's entry, lead to another function? */
static bool leaves(struct dep_walk *w, const struct dep_branch_at *b)
{
	u64 from = b->step->pc, to = b->to;
	struct dep_left *l = &w->left[(from * 61 ^ to * 7) % DEP_LEFT];
	u32 process = w->thread->process;

	if (!w->leaves)
		return false;
	if (l->from != from || l->to != to || l->process != process)
		*l = (struct dep_left){
			from, to, process, w->leaves(w->leaves_arg, process, from, to),
		};
	return l->leaves;
}

int dep_branch_jump(struct dep_walk *w, const struct dep_branch_at *b)
{
	bool anew = w->anew, tail = is_entry(w, b) || b->move->flags & DEP_MOVE_POINTER;
	u64 sp, slot;

	if (!b->to)
		return 0;
	if (dep_count_flush(w))
		return -ENOMEM;
	if (w->state == DEP_ANEW) {
		sp = is_entry(w, b) ? 0 : dep_learn_last(w);
		/* The dynamic linker's resolver jumps to the function like this. */
		if (!sp)
			return is_entry(w, b) ? enter_tail(w, b) : 0;
		if (!dep_strand_find(w, sp, DEP_NEAR)) {
			set_rsp(w, sp);
			return begin_stack(w, b, sp);
		}
		set_rsp(w, sp);
		tail = true;
	}
	if (w->state != DEP_KNOWN)
		return is_entry(w, b) ? enter_tail(w, b) : 0;
	slot = dep_strand_slot(w, dep_top(w));
	w->anew = false;
	if (slot == w->rsp && (tail || anew || leaves(w, b)))
		return enter_tail(w, b);
	return 0;
}

int dep_branch_tail(struct dep_walk *w, const struct dep_branch_at *b)
{
	struct dep_activation *top = dep_top(w);

	if (!b->to || w->state == DEP_ANEW)
		return 0;
	if (w->state == DEP_KNOWN && !top->seg && top->slot != w->rsp)
		return 0;
	return enter_tail(w, b);
}
