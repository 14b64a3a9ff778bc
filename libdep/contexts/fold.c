// SPDX-License-Identifier: LGPL-2.1-or-later
/* The fold: its callbacks, and records in the general case. */
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/error.h"
#include "walk.h"

static int no_memory(int err)
{
	return err == -ENOMEM ? dep_fail(-ENOMEM, "contexts") : err;
}

static int execute_step(struct dep_walk *w, const struct dep_branch_at *b, bool last, bool taken)
{
	switch (b->step->branch) {
	case DEP_BRANCH_CALL:
	case DEP_BRANCH_CALL_INDIRECT:
		return dep_branch_call(w, b);
	case DEP_BRANCH_RETURN:
		return dep_branch_return(w, b);
	case DEP_BRANCH_JUMP_INDIRECT:
		return dep_branch_jump(w, b);
	case DEP_BRANCH_JUMP:
		return b->move->flags & DEP_MOVE_ENTRY ? dep_branch_tail(w, b) : 0;
	case DEP_BRANCH_COND:
		return last && taken && b->move->flags & DEP_MOVE_ENTRY ? dep_branch_tail(w, b) : 0;
	default:
		return 0;
	}
}

/* A record, or the part of one in front of instruction @to, in the general case. */
struct general {
	u32 fragment, from, to;	/* rsp is that at instruction @from */
	u32 nsteps, insns, refs;
	u64 next_pc;
	s64 next_fragment;
	bool taken;		/* the last step is a conditional jump that was taken */
	u64 rsp;		/* what is known of rsp at the beginning */
	u8 state;
	bool anew;
};

static bool is_jump(u8 branch)
{
	return branch >= DEP_BRANCH_JUMP && branch <= DEP_BRANCH_RETURN;
}

/* Set rsp to that in front of the branch of step number @k, or behind the record's last step. */
static void change_to(struct dep_walk *w, const struct general *g, u32 k, struct dep_move *move)
{
	const struct dep_code_fragment *f = w->code->fragment + g->fragment;
	const struct dep_branch_step *step = w->code->step + f->first_step + k;
	struct dep_align align = { 0 };
	struct dep_move between;
	u32 refs;

	w->rsp = g->rsp;
	w->state = g->state;
	w->anew = g->anew;
	if (k < f->nsteps)
		*move = w->moves->step[f->first_step + k];
	if (k < g->nsteps && !g->from) {
		if (move->how == DEP_RSP_ALIGN)
			align = w->moves->align[move->by];
		dep_branch_change(w, move, &align);
		return;
	}
	dep_moves_between(w->moves, g->fragment, g->from, k < g->nsteps ? step->insns : g->to,
			  &between, &align, &refs);
	dep_branch_change(w, &between, &align);
}

/* Set rsp to that behind a step of the record's first part, which the previous segment has. */
static void change_back(struct dep_walk *w, const struct general *g, u32 insns)
{
	struct dep_align align;
	struct dep_move move;
	u32 refs;

	dep_moves_between(w->moves, g->fragment, insns, g->from, &move, &align, &refs);
	w->rsp = g->rsp - (u64)(s64)move.by;
	w->state = move.how == DEP_RSP_ADD ? g->state : DEP_WITHIN;
}

/* The record's first part may have set rbp. */
static void set_frame(struct dep_walk *w, const struct general *g)
{
	struct dep_align align;
	struct dep_move move;
	u32 refs;

	dep_moves_between(w->moves, g->fragment, 0, g->from, &move, &align, &refs);
	if (move.flags & DEP_MOVE_FRAME_BEHIND)
		dep_top(w)->frame = g->rsp + (u64)(s64)move.frame;
	else if (move.flags & DEP_MOVE_FRAME && move.how == DEP_RSP_ADD)
		dep_top(w)->frame = g->rsp - (u64)(s64)move.by + (u64)(s64)move.frame;
}

static int run_step(struct dep_walk *w, const struct general *g, u32 k)
{
	const struct dep_code_fragment *f = w->code->fragment + g->fragment;
	struct dep_move move = { 0 };
	struct dep_branch_at b = {
		.step = w->code->step + f->first_step + k, .move = &move,
		.step_number = f->first_step + k, .fragment = g->fragment,
		.to = g->next_pc, .to_fragment = g->next_fragment,
	};
	bool last = k + 1 == g->nsteps;

	if (!is_jump(b.step->branch) && (b.step->branch != DEP_BRANCH_COND || !last))
		return 0;
	w->branches += is_jump(b.step->branch) && b.step->insns > g->from;
	/* Of the jumps inside of a record only those to entries matter. */
	if (!last && !(w->moves->step[f->first_step + k].flags & DEP_MOVE_ENTRY))
		return 0;
	if (b.step->insns > g->from) {
		change_to(w, g, k, &move);
	} else {
		change_back(w, g, b.step->insns);
		move = w->moves->step[f->first_step + k];
	}
	if (!last) {
		b.to = b.step->target;
		b.to_fragment = dep_moves_find(w->moves, g->fragment, b.to);
	}
	return execute_step(w, &b, last, g->taken);
}

/* Address of the first instruction behind step number @k - 1, or of the fragment. */
static u64 begin_of(const struct dep_walk *w, u32 fragment, u32 k)
{
	const struct dep_code_fragment *f = w->code->fragment + fragment;
	const struct dep_branch_step *before = w->code->step + f->first_step + k - 1;

	if (!k)
		return f->pc;
	return before->branch == DEP_BRANCH_JUMP ? before->target : before->next;
}

/* Step number @k comes next, or the instructions behind the record's last step. */
static void look_at(struct dep_walk *w, const struct general *g, u32 k)
{
	const struct dep_code_fragment *f = w->code->fragment + g->fragment;
	const struct dep_branch_step *step = w->code->step + f->first_step + k;
	u64 begin = begin_of(w, g->fragment, k);

	if (k >= f->nsteps)
		dep_at_insns(w, begin, begin);
	else if (step->insns > g->from)
		dep_at_insns(w, begin, step->next);
}

/* Tell the follower about step number @k of a fragment. */
static int follow_step(struct dep_walk *w, u32 fragment, u32 k)
{
	const struct dep_follower *f = w->follower;

	return f->step(f->self, w, dep_progress(w), fragment,
		       w->code->fragment[fragment].first_step + k);
}

/* Tell it about instructions behind the last step of a record. */
static int follow_piece(struct dep_walk *w, const struct general *g, u32 insns)
{
	const struct dep_follower *f = w->follower;

	if (!f || g->insns <= insns)
		return 0;
	return f->piece(f->self, w, dep_progress(w), g->fragment, g->nsteps, g->insns);
}

static int run_steps(struct dep_walk *w, struct general *g)
{
	const struct dep_code_fragment *f = w->code->fragment + g->fragment;
	const struct dep_branch_step *step = w->code->step + f->first_step;
	u32 k, insns = 0, refs = 0;
	struct dep_move move;
	int err = 0;
	u8 last;

	g->rsp = w->rsp;
	g->state = w->state;
	g->anew = w->anew;
	if (g->from && g->state == DEP_KNOWN)
		set_frame(w, g);
	for (k = 0; k < g->nsteps; k++) {
		if (w->wanted_at < w->wanted_end)
			look_at(w, g, k);
		w->insns += step[k].insns - insns;
		w->refs += step[k].refs - refs;
		insns = step[k].insns;
		refs = step[k].refs;
		if (w->follower)
			err = follow_step(w, g->fragment, k);
		if (!err)
			err = run_step(w, g, k);
		if (err)
			return err;
	}
	if (g->insns > insns && w->wanted_at < w->wanted_end)
		look_at(w, g, g->nsteps);
	w->insns += g->insns - insns;
	w->refs += g->refs - refs;
	last = g->nsteps ? step[g->nsteps - 1].branch : DEP_BRANCH_NONE;
	if (last < DEP_BRANCH_JUMP_INDIRECT || last > DEP_BRANCH_RETURN)
		change_to(w, g, insns == g->to && g->nsteps ? g->nsteps - 1 : g->nsteps, &move);
	return follow_piece(w, g, insns);
}

static int run_exit_general(struct dep_walk *w, u32 number, u32 from, u64 pc, s64 fragment)
{
	const struct dep_code_exit *x = w->code->exit + number;
	struct general g = {
		.fragment = x->fragment, .from = from, .to = x->insns, .nsteps = x->nsteps,
		.insns = x->insns, .refs = x->refs, .next_pc = pc, .next_fragment = fragment,
		.taken = x->taken,
	};

	return run_steps(w, &g);
}

/* Whatever dep_hot_run() stops at; @pc is followed by the record of @fragment, or -1. */
static int run_exit(struct dep_walk *w, u32 number, u64 pc, s64 fragment)
{
	const struct dep_exit_move *x = w->moves->exit + number;
	const struct dep_move *move = &x->move;
	struct dep_branch_at b = {
		.step = w->code->step + x->step, .move = move, .step_number = x->step,
		.fragment = x->fragment, .to = pc, .to_fragment = fragment,
	};
	int err;

	if (x->op == DEP_OP_STEPS)
		return run_exit_general(w, number, 0, pc, fragment);
	if (w->follower && !w->followed) {
		err = w->follower->exit(w->follower->self, w, dep_progress(w), number);
		if (err)
			return err;
	}
	w->followed = false;
	w->branches += x->branches;
	w->insns += x->insns;
	w->refs += x->refs;
	if (move->how == DEP_RSP_ADD && !(move->flags & DEP_MOVE_FRAMES))
		w->rsp += (u64)(s64)move->by;
	else
		dep_branch_change(w, move, move->how == DEP_RSP_ALIGN ?
				  w->moves->align + move->by : NULL);
	switch (x->op) {
	case DEP_OP_CALL:
		return dep_branch_call(w, &b);
	case DEP_OP_RETURN:
		return dep_branch_return(w, &b);
	case DEP_OP_JUMP:
		return dep_branch_jump(w, &b);
	case DEP_OP_TAIL:
		return dep_branch_tail(w, &b);
	default:
		return 0;
	}
}

/* Where the thread goes on behind exit @i: the pc, and the fragment of the record or -1. */
static u64 goes_on(const struct dep_walk *w, const u32 *exit, size_t i, size_t n, u64 next_pc,
		   s64 *fragment)
{
	const struct dep_exit_move *all = w->moves->exit;

	if (i + 1 < n) {
		*fragment = all[exit[i + 1]].fragment;
		return w->moves->hot[exit[i + 1]].start;
	}
	*fragment = next_pc ? dep_moves_find(w->moves, all[exit[i]].fragment, next_pc) : -1;
	return next_pc;
}

static int take_exits(void *part, const u32 *exit, size_t n, uint64_t next_pc)
{
	struct dep_walk *w = part;
	u32 fragment = w->moves->exit[exit[0]].fragment;
	size_t i = 0;
	int err = 0;
	s64 next;
	u64 pc;

	if (!w->begun)
		err = dep_thread_begin(w, w->code->fragment[fragment].pc, fragment);
	if (w->head_fragment && !err) {
		w->head_fragment = 0;
		pc = goes_on(w, exit, 0, n, next_pc, &next);
		err = run_exit_general(w, exit[0], w->head_insn, pc, next);
		i = 1;
	}
	while (!err && i < n && w->wanted_at < w->wanted_end) {
		pc = goes_on(w, exit, i, n, next_pc, &next);
		err = run_exit_general(w, exit[i++], 0, pc, next);
	}
	while (!err && i < n) {
		i = dep_hot_run(w, exit, i, n);
		if (i == n)
			break;
		pc = goes_on(w, exit, i, n, next_pc, &next);
		err = run_exit(w, exit[i++], pc, next);
	}
	return no_memory(err);
}

static int take_piece(void *part, const struct dep_fold_piece *piece)
{
	struct dep_walk *w = part;
	struct general g = {
		.fragment = piece->fragment, .to = piece->to, .nsteps = piece->nsteps,
		.insns = piece->to, .next_pc = piece->pc, .next_fragment = -1,
	};
	struct dep_align align;
	struct dep_move move;
	int err = 0;

	if (!w->begun)
		err = dep_thread_begin(w, w->code->fragment[piece->fragment].pc, piece->fragment);
	if (err)
		return no_memory(err);
	if (w->head_fragment == piece->fragment + 1 && w->head_insn <= piece->to)
		g.from = w->head_insn;
	w->head_fragment = 0;
	dep_moves_between(w->moves, piece->fragment, 0, piece->to, &move, &align, &g.refs);
	if (piece->pc)
		g.next_fragment = dep_moves_find(w->moves, piece->fragment, piece->pc);
	return no_memory(run_steps(w, &g));
}

static int end_segment(struct dep_walk *w, bool follows)
{
	int err = w->segment ? dep_count_flush(w) : 0;

	dep_at_end(w, follows);
	if (!err && w->segment && w->tree.by_segment)
		err = dep_tree_segment_end(&w->tree, w->segment->thread, w->segment->start_ns);
	w->segment = NULL;
	return err;
}

static int take_segment(void *part, const struct dep_fold_segment *seg)
{
	struct dep_walk *w = part;
	const struct dep_segment *first;
	struct dep_learned previous = w->learned[0];
	size_t n = dep_store_segments(w->store, &first);
	int err = end_segment(w, seg->follows);

	/* Behind segments that this pass does not select, nothing is known of the stack. */
	if (!seg->follows)
		dep_thread_lost(w);
	if (w->thread != seg->thread) {
		w->thread = seg->thread;
		w->known_start = false;
		/* Transitions lead to contexts of a process. */
		dep_count_forget(w);
	}
	w->segment = seg->segment;
	w->seg = seg->segment >= first && seg->segment < first + n ?
		 (u32)(seg->segment - first) + 1 : 0;
	w->learned[0] = w->learned[1];
	w->learned[1] = previous;
	w->branches = 0;
	w->signals = 0;
	dep_at_segment(w);
	w->head_fragment = seg->fragment;
	w->head_insn = seg->insn;
	w->rsp = seg->regs[4];
	w->state = DEP_KNOWN;
	return no_memory(err);
}

static int take_event(void *part, const struct dep_event *event)
{
	return no_memory(dep_thread_event(part, event));
}

static int take_gap(void *part, const struct dep_thread *thread)
{
	struct dep_walk *w = part;

	(void)thread;
	if (dep_count_flush(w))
		return no_memory(-ENOMEM);
	dep_at_end(w, false);
	dep_thread_lost(w);
	return 0;
}

static int end_thread(void *part, const struct dep_thread *thread)
{
	struct dep_walk *w = part;
	int err = end_segment(w, false);

	dep_strands_drop(w);
	w->known_start = false;
	if (!err)
		err = dep_tree_thread_end(&w->tree, thread->serial);
	w->thread = NULL;
	return no_memory(err);
}

static void *make_part(void *self, const struct dep_fragments *code)
{
	(void)code;
	return self;
}

static int join(void *self, void *part)
{
	(void)self;
	(void)part;
	return 0;
}

const struct dep_fold dep_contexts_fold = {
	.name = "contexts", .ordered = true, .part = make_part, .segment = take_segment,
	.exits = take_exits, .piece = take_piece, .event = take_event, .gap = take_gap,
	.end = end_thread, .join = join,
};
