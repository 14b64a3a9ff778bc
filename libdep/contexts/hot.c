// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The hot loop: calls, returns and jumps as nearly all are.
 *
 * The stack pointer is known, a call pushes below the last frame, a return goes back to that, and
 * the transition to the other context was made before.  What is needed stays in registers.
 *
 * There are two loops: alone, and with a follower that sees each exit (follow.h).  The owner of
 * hooks has a loop of its own (dep_walk_hooks.run).
 */
#include "walk.h"

/* ---- exits ---- */

static bool fits(u32 n)
{
	return n <= UINT8_MAX;
}

_Static_assert((u64)DEP_FOLD_BATCH * UINT8_MAX < 1u << DEP_HOT_BITS, "dep_exit_hot.add");

static u8 op_of(const struct dep_exit_move *x)
{
	if (x->move.how != DEP_RSP_ADD || x->move.flags & DEP_MOVE_FRAMES ||
	    !fits(x->insns) || !fits(x->refs) || !fits(x->branches))
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

static void make_hot(const struct dep_moves *m, const struct dep_exit_move *x,
		     struct dep_exit_hot *to)
{
	u64 next;

	to->start = m->code->fragment[x->fragment].pc;
	to->fragment = x->fragment;
	to->entry = m->entry[x->fragment];
	to->op = op_of(x);
	next = x->next - to->start;
	to->next = (s32)next;
	if (to->op == DEP_HOT_CALL && next != (u64)to->next)
		to->op = DEP_HOT_OTHER;
	if (to->op == DEP_HOT_OTHER)
		return;
	to->add = x->insns | (u64)x->refs << DEP_HOT_BITS | (u64)x->branches << 2 * DEP_HOT_BITS;
	to->by = x->move.by;
	to->step = to->op == DEP_HOT_RETURN ? 8u + x->move.pops : x->step;
}

void dep_moves_make_hot(struct dep_moves *m)
{
	u32 i;

	/* Number 0 is no exit. */
	for (i = 1; i < m->code->nexits; i++)
		make_hot(m, m->exit + i, m->hot + i);
}

/* ---- the loop ---- */

/* Each of the loops has its own copies, without a call, so that struct hot is in registers. */
#define ALWAYS_INLINE	inline __attribute__((always_inline))

/* Who else sees what the loop does; a constant in each of the loops. */
enum mode {
	ALONE,
	FOLLOWED,	/* a follower sees each exit */
};

/*
 * dep_walk, as far as the loop changes it.
 * @sum: of dep_exit_hot.add; what is not counted yet
 * @now: the context at work
 * @top: the last frame; @end: no frame fits there
 * The rest is used with a follower only:
 *
 * @follower: the walk's
 * @progress: of the last frame, without what @path and @at have of it
 * @path: dep_progress.sum of the last frame; @at: its stretch
 */
struct hot {
	u64 rsp, sum;
	struct dep_node_now *now;
	struct dep_activation *top, *end;
	struct dep_follower *follower;
	struct dep_progress *progress;
	u64 path;
	u32 at;
};

static u32 insns_of(u64 sum)
{
	return (u32)sum & ((1u << DEP_HOT_BITS) - 1);
}

static u32 refs_of(u64 sum)
{
	return insns_of(sum >> DEP_HOT_BITS);
}

static u32 branches_of(u64 sum)
{
	return (u32)(sum >> 2 * DEP_HOT_BITS);
}

static ALWAYS_INLINE void count(struct dep_walk *w, struct hot *h)
{
	h->now->insns += insns_of(h->sum);
	h->now->refs += refs_of(h->sum);
	w->branches += branches_of(h->sum);
	h->sum = 0;
}

/* Return: false if only exits without branches are common now. */
static ALWAYS_INLINE bool begin(struct dep_walk *w, struct hot *h)
{
	h->rsp = w->rsp;
	h->sum = 0;
	h->now = w->tree.now + w->ctx;
	h->top = dep_top(w);
	h->end = h->top + dep_strand_left(w);
	if (w->state != DEP_KNOWN || w->anew || w->watch || !h->now->ready)
		return false;
	h->now->insns += w->insns;
	h->now->refs += w->refs;
	w->insns = w->refs = 0;
	return true;
}

/* Frames and context of the stack at work, which are then those of dep_walk. */
static ALWAYS_INLINE void write_back(struct dep_walk *w, const struct hot *h)
{
	size_t n = (size_t)(h->top - w->at->frame) + 1;

	w->nframes_all += n - w->at->n;
	w->at->n = n;
	w->ctx = (u32)(h->now - w->tree.now);
}

static ALWAYS_INLINE void end(struct dep_walk *w, const struct hot *h)
{
	write_back(w, h);
	w->rsp = h->rsp;
	w->insns += insns_of(h->sum);
	w->refs += refs_of(h->sum);
	w->branches += branches_of(h->sum);
}

/* ---- the follower ---- */

static ALWAYS_INLINE void load(struct hot *h)
{
	h->path = h->progress->sum;
	h->at = h->progress->stretch;
}

static ALWAYS_INLINE void store(const struct hot *h)
{
	h->progress->sum = h->path;
	h->progress->stretch = h->at;
}

/* Return: false if the follower cannot go on here. */
static bool begin_follow(struct dep_walk *w, struct hot *h)
{
	struct dep_follower *f = w->follower;

	h->follower = f;
	h->progress = dep_progress(w);
	if ((!h->progress->stretch || h->progress->ctx != w->ctx) &&
	    f->update(f->self, w, h->progress))
		return false;
	load(h);
	return true;
}

/* The activation executes an exit.  Return: false if the follower has to look at it. */
static ALWAYS_INLINE bool follow(const struct dep_walk *w, struct hot *h, u32 exit)
{
	struct dep_follower *f = h->follower;
	struct dep_stretch *s = f->stretch + h->at;
	u32 next;

	if (s->next[0].exit == exit)
		next = s->next[0].stretch;
	else if (s->next[1].exit == exit)
		next = s->next[1].stretch;
	else
		next = f->next(f->self, w, h->at, exit);
	if (!next)
		return false;
	s = f->stretch + next;
	s->count++;
	h->at = next;
	h->path += s->add;
	if (!(s->flags & DEP_STRETCH_ENDS))
		return true;
	if (s->counter)
		s->counter[h->path]++;
	else
		f->ended(f->self, next, h->path, &h->progress->sequence);
	h->path = s->base;
	return true;
}

/* The stretch of an activation of @ctx that has executed nothing; 0: not known. */
static ALWAYS_INLINE u32 begins(const struct hot *h, u32 ctx)
{
	return ctx < h->follower->contexts ? h->follower->begin[ctx] : 0;
}

static ALWAYS_INLINE void follow_call(struct hot *h, u32 ctx, u32 stretch)
{
	store(h);
	h->progress++;
	h->progress->ctx = ctx;
	h->progress->sequence = 0;
	h->path = 0;
	h->at = stretch;
}

static ALWAYS_INLINE void follow_return(struct hot *h)
{
	struct dep_follower *f = h->follower;
	struct dep_stretch *s = f->stretch + h->at;

	if (s->flags & DEP_STRETCH_WHOLE) {
		s->counter[h->path + s->last]++;
	} else {
		store(h);
		f->end(f->self, h->progress);
	}
	h->progress--;
	load(h);
}

/* Return: false if the follower has to look at this tail call. */
static ALWAYS_INLINE bool follow_tail(struct hot *h, u32 ctx)
{
	struct dep_stretch *s = h->follower->stretch + h->at;
	u32 from = begins(h, h->progress->ctx), to = begins(h, ctx);

	if (!from || !to || (from != to && !(s->flags & DEP_STRETCH_WHOLE)))
		return false;
	h->progress->ctx = ctx;
	if (from == to)
		return true;
	s->counter[h->path + s->last]++;
	h->path = 0;
	h->at = to;
	return true;
}

/* ---- branches ---- */

/* The context of a transition that was made before; 0: it is not known. */
static ALWAYS_INLINE u32 find(const struct dep_walk *w, struct hot *h, u32 kind, u32 step,
		       const struct dep_exit_hot *to)
{
	struct dep_node_next *next = h->now->next + dep_tree_next(step, to->fragment);
	const struct dep_step_to *c;
	u32 from;

	if (next->step == step && next->fragment == to->fragment)
		return next->to;
	from = (u32)(h->now - w->tree.now);
	c = dep_step_to(w, from, kind, step, to->start);
	if (!dep_is_step_to(w, c, from, kind, step, to->start, to->fragment))
		return 0;
	*next = (struct dep_node_next){ step, to->fragment, c->to };
	return c->to;
}

static ALWAYS_INLINE bool call(struct dep_walk *w, struct hot *h, const struct dep_exit_hot *x,
			const struct dep_exit_hot *to, enum mode mode)
{
	u64 slot = h->rsp - 8, ret = x->start + (u64)(s64)x->next;
	struct dep_node_now *now;
	u32 ctx, stretch = 0;

	if (h->top->seg || slot >= h->top->slot || h->top >= h->end || to->start == ret)
		return false;
	ctx = find(w, h, DEP_CONTEXT_CALL, x->step, to);
	if (!ctx)
		return false;
	now = w->tree.now + ctx;
	if (mode == FOLLOWED)
		stretch = begins(h, ctx);
	if (!now->ready || (mode == FOLLOWED && !stretch))
		return false;
	if (mode == FOLLOWED)
		follow_call(h, ctx, stretch);
	count(w, h);
	now->calls++;
	h->now = now;
	h->rsp = slot;
	h->top++;
	h->top->ret = ret;
	h->top->slot = slot;
	h->top->frame = 0;
	h->top->ctx = ctx;
	h->top->seg = 0;
	return true;
}

static ALWAYS_INLINE bool go_back(struct dep_walk *w, struct hot *h, const struct dep_exit_hot *x,
			   const struct dep_exit_hot *to, enum mode mode)
{
	struct dep_node_now *now;

	if (h->top->ret != to->start || h->top->slot != h->rsp || h->top->seg ||
	    h->top <= w->at->frame + 1)
		return false;
	now = w->tree.now + h->top[-1].ctx;
	if (!now->ready)
		return false;
	if (mode == FOLLOWED) {
		if (!h->progress[-1].stretch || h->progress[-1].ctx != h->top[-1].ctx)
			return false;
		follow_return(h);
	}
	count(w, h);
	h->now = now;
	h->rsp += x->step;
	h->top--;
	return true;
}

static ALWAYS_INLINE bool jump(struct dep_walk *w, struct hot *h, const struct dep_exit_hot *x,
			const struct dep_exit_hot *to, enum mode mode)
{
	struct dep_node_now *now;
	u32 ctx;

	if (h->top->seg)
		return false;
	if (h->top->slot != h->rsp)
		return true;
	if (h->top <= w->at->frame + 1 || (x->op == DEP_HOT_JUMP && !to->entry))
		return false;
	ctx = find(w, h, DEP_CONTEXT_TAIL, x->step, to);
	if (!ctx)
		return false;
	now = w->tree.now + ctx;
	if (now == h->now)
		return true;
	if (!now->ready || (mode == FOLLOWED && !follow_tail(h, ctx)))
		return false;
	count(w, h);
	now->calls++;
	h->now = now;
	h->top->ctx = ctx;
	return true;
}

static ALWAYS_INLINE bool branch(struct dep_walk *w, struct hot *h, const struct dep_exit_hot *x,
			  const struct dep_exit_hot *to, enum mode mode)
{
	if (!to->start)
		return false;
	switch (x->op) {
	case DEP_HOT_CALL:
		return call(w, h, x, to, mode);
	case DEP_HOT_RETURN:
		return go_back(w, h, x, to, mode);
	case DEP_HOT_JUMP:
	case DEP_HOT_TAIL:
		return jump(w, h, x, to, mode);
	default:
		return false;
	}
}

static ALWAYS_INLINE size_t run(struct dep_walk *w, const u32 *exit, size_t i, size_t n,
				enum mode mode)
{
	const struct dep_exit_hot *all = w->moves->hot, *x;
	const u32 *at = exit + i, *last = exit + n;
	struct hot h;
	bool known = begin(w, &h);

	for (; at < last; at++) {
		x = all + *at;
		h.sum += x->add;
		h.rsp += (u64)(s64)x->by;
		if (x->op == DEP_HOT_PLAIN)
			continue;
		if (!known || at + 1 == last || !branch(w, &h, x, all + at[1], mode)) {
			h.sum -= x->add;
			h.rsp -= (u64)(s64)x->by;
			break;
		}
	}
	end(w, &h);
	return (size_t)(at - exit);
}

static size_t run_alone(struct dep_walk *w, const u32 *exit, size_t i, size_t n)
{
	return run(w, exit, i, n, ALONE);
}

/* The same with a follower, which has to see each exit before its branch. */
static size_t run_followed(struct dep_walk *w, const u32 *exit, size_t i, size_t n)
{
	const struct dep_exit_hot *all = w->moves->hot, *x;
	const u32 *at = exit + i, *last = exit + n;
	struct hot h;
	bool known = begin(w, &h);

	if (!begin_follow(w, &h))
		return i;
	for (; at < last; at++) {
		x = all + *at;
		if (x->op != DEP_HOT_PLAIN &&
		    (!known || x->op == DEP_HOT_OTHER || at + 1 == last))
			break;
		if (!follow(w, &h, *at))
			break;
		h.sum += x->add;
		h.rsp += (u64)(s64)x->by;
		if (x->op != DEP_HOT_PLAIN && !branch(w, &h, x, all + at[1], FOLLOWED)) {
			h.sum -= x->add;
			h.rsp -= (u64)(s64)x->by;
			w->followed = true;
			break;
		}
	}
	store(&h);
	end(w, &h);
	return (size_t)(at - exit);
}

size_t dep_hot_run(struct dep_walk *w, const u32 *exit, size_t i, size_t n)
{
	if (w->follower)
		return run_followed(w, exit, i, n);
	return w->hooks ? w->hooks->run(w->hooks_arg, exit, i, n) : run_alone(w, exit, i, n);
}
