// SPDX-License-Identifier: LGPL-2.1-or-later
/* What activations execute: learn transitions, or count paths. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "pass.h"

int dep_path_changed(void)
{
	return dep_fail(-ESTALE, "the store changed while it was read");
}

/* ---- functions of contexts ---- */

static s64 find_function(struct dep_path_pass *p, const struct dep_walk *w, u32 context)
{
	const struct dep_node *node = w->tree.node + context;
	const struct dep_row_key key = {
		.a = node->pc, .b = w->thread->process, .c = p->file[node->image],
	};
	struct dep_path_fn *f;
	bool added;
	s64 i = dep_row_find(&p->function_map, &key), begin;

	if (i >= 0)
		return i;
	if (p->counts)
		return dep_path_changed();
	begin = dep_path_stretch_begin(p, (u32)p->function.n);
	if (begin < 0)
		return begin;
	i = dep_path_index(p, &p->function_map, &key, &p->function, sizeof(*f), &added);
	if (i < 0)
		return i;
	f = dep_path_fn_at(p, (u32)i);
	f->pc = node->pc;
	f->process = w->thread->process;
	f->image = p->file[node->image];
	f->first_node = f->first_transition = DEP_PATH_NO;
	f->begin = (u32)begin;
	return i;
}

static int contexts_room(struct dep_path_pass *p, const struct dep_walk *w)
{
	struct dep_follower *f = &p->follower;
	size_t n = w->tree.room;
	u32 *more;
	int err;

	if (w->ctx < f->contexts)
		return 0;
	err = dep_path_charge(p, (n - f->contexts) * sizeof(*more));
	if (err)
		return err;
	more = realloc(f->begin, n * sizeof(*more));
	if (!more)
		return dep_fail(-ENOMEM, "paths");
	memset(more + f->contexts, 0, (n - f->contexts) * sizeof(*more));
	f->begin = more;
	f->contexts = n;
	return 0;
}

/* Where activations of the context at work begin.  The root is that of all processes. */
static s64 begin_at_work(struct dep_path_pass *p, const struct dep_walk *w)
{
	s64 i;

	i = contexts_room(p, w);
	if (i)
		return i;
	if (p->follower.begin[w->ctx])
		return p->follower.begin[w->ctx];
	i = find_function(p, w, w->ctx);
	if (i < 0)
		return i;
	i = dep_path_fn_at(p, (u32)i)->begin;
	if (w->ctx)
		p->follower.begin[w->ctx] = (u32)i;
	return i;
}

/* ---- what is executed ---- */

/* The first path that ends by a stretch is often that of the last time. */
static void take_ended(void *self, u32 stretch, u64 sum, u32 *sequence)
{
	struct dep_path_pass *p = self;
	struct dep_path_stretch *s = dep_path_stretch_at(p, stretch);
	const struct dep_path_counter what = {
		.number = sum, .count = 1, .function = s->function, .block = DEP_PATH_NO,
	};
	s64 i;

	(void)sequence;
	if (s->counter && s->number == sum) {
		dep_path_counter_at(p, s->counter - 1)->count++;
		return;
	}
	i = dep_path_count(p, &what);
	if (i < 0) {
		if (i != -ENOSPC && !p->err)
			p->err = (int)i;
		return;
	}
	s->number = sum;
	s->counter = (u32)i + 1;
}

/* The activation has executed stretch @i. */
static int take(struct dep_path_pass *p, struct dep_progress *progress, s64 i)
{
	struct dep_stretch *s;

	if (i < 0)
		return (int)i;
	s = dep_path_hot_at(p, (u32)i);
	s->count++;
	progress->stretch = (u32)i;
	progress->sum += s->add;
	if (!(s->flags & DEP_STRETCH_ENDS))
		return p->err;
	if (s->counter)
		s->counter[progress->sum]++;
	else
		p->follower.ended(p, (u32)i, progress->sum, &progress->sequence);
	progress->sum = s->base;
	return p->err;
}

/* ---- ends of paths ---- */

static int finish_node(struct dep_path_pass *p, const struct dep_path_stretch *s,
		       const struct dep_progress *progress, bool whole)
{
	struct dep_path_node *n = dep_path_node_at(p, s->node);
	struct dep_path_counter what = {
		.number = progress->sum, .count = 1, .function = s->function,
		.before = progress->sequence,
	};

	if (whole && !n->exits && p->counts)
		return dep_path_changed();
	n->exits |= whole;
	if (!p->counts)
		return 0;
	if (!dep_path_fn_at(p, s->function)->numbered) {
		p->not_counted++;
		return 0;
	}
	if (whole)
		what.number += n->exit;
	what.block = whole ? DEP_PATH_NO :
		     *DEP_PATH_ROW(u32, p->chain, n->chain + n->blocks - 1);
	return dep_path_count_next(p, &what, NULL);
}

/* The path at @progress ends: as a whole one over an edge to the exit, or where it is. */
static int finish(struct dep_path_pass *p, const struct dep_progress *progress, bool whole)
{
	const struct dep_path_stretch *s = dep_path_stretch_at(p, progress->stretch);
	struct dep_stretch *hot = dep_path_hot_at(p, progress->stretch);
	int err;

	if (s->node == DEP_PATH_NO)
		return 0;
	err = finish_node(p, s, progress, whole);
	if (whole && !p->counts) {
		/* Nothing else is to be learned here. */
		hot->flags |= DEP_STRETCH_WHOLE;
		hot->counter = &p->ignored;
	}
	return err;
}

static u8 last_branch(const struct dep_path_pass *p, const struct dep_progress *progress)
{
	const struct dep_path_stretch *s = dep_path_stretch_at(p, progress->stretch);

	return s->node == DEP_PATH_NO ? DEP_BRANCH_NONE : dep_path_last_run(p, s)->branch;
}

static bool is_tail(u8 branch)
{
	return branch == DEP_BRANCH_COND || branch == DEP_BRANCH_JUMP ||
	       branch == DEP_BRANCH_JUMP_INDIRECT || branch == DEP_BRANCH_RETURN;
}

/* ---- activations ---- */

/* A tail call leads to another function, or back to this one by way of others. */
static int take_update(void *self, const struct dep_walk *w, struct dep_progress *progress)
{
	struct dep_path_pass *p = self;
	s64 begin = p->err ? p->err : begin_at_work(p, w);
	u32 function;
	int err = 0;

	if (begin < 0)
		goto fail;
	progress->ctx = w->ctx;
	function = dep_path_stretch_at(p, (u32)begin)->function;
	if (progress->stretch) {
		if (dep_path_stretch_at(p, progress->stretch)->function == function)
			return 0;
		err = finish(p, progress, is_tail(last_branch(p, progress)));
	}
	progress->stretch = (u32)begin;
	progress->sum = 0;
	progress->sequence = 0;
	p->err = err;
	return err;
fail:
	/* The hot loop only stops.  The next call returns the error. */
	p->err = (int)begin;
	return p->err;
}

static int execute(struct dep_path_pass *p, const struct dep_walk *w, struct dep_progress *progress,
		   const struct dep_path_executed *what)
{
	int err = p->err;
	u32 function;
	s64 next;

	if (!err && (!progress->stretch || progress->ctx != w->ctx))
		err = take_update(p, w, progress);
	if (err)
		return err;
	next = dep_path_stretch_next(p, w, progress->stretch, what);
	if (next)
		return take(p, progress, next);
	err = finish(p, progress, false);
	if (err)
		return err;
	function = dep_path_stretch_at(p, progress->stretch)->function;
	progress->stretch = dep_path_fn_at(p, function)->begin;
	progress->sum = 0;
	progress->sequence = 0;
	return take(p, progress, dep_path_stretch_next(p, w, progress->stretch, what));
}

static int take_exit(void *self, const struct dep_walk *w, struct dep_progress *progress, u32 exit)
{
	struct dep_path_pass *p = self;
	const struct dep_path_executed what = { .exit = exit };

	if (!p->code->exit[exit].insns)
		return p->err;
	return execute(p, w, progress, &what);
}

static int take_run(struct dep_path_pass *p, const struct dep_walk *w, struct dep_progress *at,
		    s64 run)
{
	const struct dep_path_executed what = { .run = (u32)run + 1 };

	return run < 0 ? (int)run : execute(p, w, at, &what);
}

static int take_step(void *self, const struct dep_walk *w, struct dep_progress *at, u32 fragment,
		     u32 step)
{
	return take_run(self, w, at, dep_path_step_run(self, w, fragment, step));
}

static int take_piece(void *self, const struct dep_walk *w, struct dep_progress *at, u32 fragment,
		      u32 nsteps, u32 to)
{
	return take_run(self, w, at, dep_path_piece_run(self, w, fragment, nsteps, to));
}

static void take_end(void *self, const struct dep_progress *progress)
{
	struct dep_path_pass *p = self;
	int err = finish(p, progress, last_branch(p, progress) == DEP_BRANCH_RETURN);

	if (!p->err)
		p->err = err;
}

static struct dep_path_recent *recent(const struct dep_path_pass *p, u32 stretch, u32 exit)
{
	u32 h = stretch * 0x9e3779b1u ^ exit * 0x85ebca6bu;

	return p->recent + ((h ^ h >> 15) & (DEP_PATH_RECENT - 1));
}

/* For the hot loop: what leads on, and need not be looked at. */
static u32 take_next(void *self, const struct dep_walk *w, u32 stretch, u32 exit)
{
	struct dep_path_pass *p = self;
	const struct dep_path_executed what = { .exit = exit };
	struct dep_path_recent *r = recent(p, stretch, exit);
	struct dep_stretch *s;
	s64 i;

	if (!r->to || r->from != stretch || r->exit != exit) {
		if (p->err || !p->code->exit[exit].insns)
			return 0;
		i = dep_path_stretch_next(p, w, stretch, &what);
		if (i < 0)
			p->err = (int)i;
		if (i <= 0)
			return 0;
		*r = (struct dep_path_recent){ .from = stretch, .exit = exit, .to = (u32)i };
	}
	s = dep_path_hot_at(p, stretch);
	s->next[1] = s->next[0];
	s->next[0].exit = exit;
	s->next[0].stretch = r->to;
	return r->to;
}

void dep_path_follower(struct dep_path_pass *p)
{
	struct dep_follower *f = &p->follower;

	f->self = p;
	f->stretch = p->hot.row;
	f->update = take_update;
	f->next = take_next;
	f->exit = take_exit;
	f->step = take_step;
	f->piece = take_piece;
	f->ended = p->iterations > 1 ? dep_path_ended_in_sequence : take_ended;
	f->end = take_end;
}
