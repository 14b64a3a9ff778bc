// SPDX-License-Identifier: LGPL-2.1-or-later
/* What activations execute: learn transitions, or count paths. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "pass.h"

static struct dep_path_active *active_at(const struct dep_path_pass *p, u32 i)
{
	return DEP_PATH_ROW(struct dep_path_active, p->active, i);
}

static int changed(void)
{
	return dep_fail(-ESTALE, "the store changed while it was read");
}

/* ---- functions of contexts ---- */

static s64 find_function(struct dep_path_pass *p, const struct dep_walk *w, u32 context)
{
	const struct dep_node *node = w->tree.node + context;
	const struct dep_row_key key = { .a = node->pc, .b = w->thread->process };
	struct dep_path_fn *f;
	bool added;
	s64 i;

	i = dep_path_index(p, &p->function_map, &key, &p->function, sizeof(*f), &added);
	if (i < 0 || !added)
		return i;
	if (p->counts)
		return changed();
	f = dep_path_fn_at(p, (u32)i);
	f->pc = node->pc;
	f->process = w->thread->process;
	f->image = node->image;
	f->first_node = f->first_transition = DEP_PATH_NO;
	return i;
}

static int contexts_room(struct dep_path_pass *p, const struct dep_walk *w)
{
	size_t n = w->tree.room;
	u32 *more;

	if (w->ctx < p->ncontexts)
		return 0;
	more = realloc(p->function_of, n * sizeof(*more));
	if (!more)
		return dep_fail(-ENOMEM, "paths");
	memset(more + p->ncontexts, 0, (n - p->ncontexts) * sizeof(*more));
	p->function_of = more;
	p->ncontexts = n;
	return 0;
}

/* The function of the context at work.  The root is that of all processes. */
static s64 function_at_work(struct dep_path_pass *p, const struct dep_walk *w)
{
	s64 i;

	if (!w->ctx)
		return find_function(p, w, 0);
	if (contexts_room(p, w))
		return -ENOMEM;
	if (p->function_of[w->ctx])
		return p->function_of[w->ctx] - 1;
	i = find_function(p, w, w->ctx);
	if (i >= 0)
		p->function_of[w->ctx] = (u32)i + 1;
	return i;
}

/* ---- counters ---- */

/* Return: the index of the counter; -ENOSPC: there was no room; or -ENOMEM. */
static s64 add_count(struct dep_path_pass *p, u32 function, u32 block, u64 number)
{
	const struct dep_row_key key = { .a = number, .b = function, .c = block };
	struct dep_path_counter *c;
	bool added;
	s64 i;

	i = dep_path_index(p, &p->counter_map, &key, &p->counter, sizeof(*c), &added);
	if (i == -ENOSPC)
		p->not_counted++;
	if (i < 0)
		return i;
	c = DEP_PATH_ROW(struct dep_path_counter, p->counter, i);
	if (added) {
		c->number = number;
		c->function = function;
		c->block = block;
	}
	c->count++;
	return i;
}

static int count(struct dep_path_pass *p, u32 function, u32 block, u64 number)
{
	s64 i = add_count(p, function, block, number);

	return i < 0 && i != -ENOSPC ? (int)i : 0;
}

/* The first path that ends by @e is often that of the last time. */
static inline int count_first(struct dep_path_pass *p, const struct dep_path_active *a,
			      struct dep_path_effect *e)
{
	s64 i;

	if (e->counter && e->number == a->sum) {
		DEP_PATH_ROW(struct dep_path_counter, p->counter, e->counter - 1)->count++;
		return 0;
	}
	i = add_count(p, a->function, DEP_PATH_NO, a->sum);
	if (i < 0)
		return i == -ENOSPC ? 0 : (int)i;
	e->number = a->sum;
	e->counter = (u32)i + 1;
	return 0;
}

/* The path of @a goes over the edges of @e. */
static int apply(struct dep_path_pass *p, struct dep_path_active *a,
		 struct dep_path_effect *e)
{
	u32 i;
	int err;

	a->sum += e->add;
	if (!e->ends)
		return 0;
	err = count_first(p, a, e);
	for (i = 1; i < e->ends && !err; i++)
		err = count(p, a->function, DEP_PATH_NO,
			    *DEP_PATH_ROW(u64, p->middle, e->middle + i - 1));
	a->sum = e->base;
	return err;
}

/* ---- paths ---- */

/* The node of @run in the function of @a; it is new in the first pass only. */
static s64 find_node(struct dep_path_pass *p, const struct dep_path_active *a, u32 run)
{
	const struct dep_row_key key = { .a = a->function, .b = run };
	struct dep_path_node *n;
	struct dep_path_fn *f;
	bool added;
	s64 i;

	i = dep_path_index(p, &p->node_map, &key, &p->node, sizeof(*n), &added);
	if (i < 0 || !added)
		return i;
	if (p->counts)
		return changed();
	f = dep_path_fn_at(p, a->function);
	n = dep_path_node_at(p, (u32)i);
	n->function = a->function;
	n->run = run;
	n->cached[0].run = n->cached[1].run = DEP_PATH_NO;
	n->next = f->first_node;
	f->first_node = (u32)i;
	return i;
}

static int begin(struct dep_path_pass *p, struct dep_path_active *a, u32 run)
{
	struct dep_path_node *n;
	s64 i = find_node(p, a, run);

	if (i < 0)
		return (int)i;
	a->node = (u32)i;
	n = dep_path_node_at(p, a->node);
	if (!p->counts) {
		n->begins = true;
		return 0;
	}
	a->sum = 0;
	return dep_path_fn_at(p, a->function)->numbered ? apply(p, a, &n->begin) : 0;
}

/* The transition from the node of @a to @run: that looked up before, or in the map. */
static s64 find_transition(struct dep_path_pass *p, const struct dep_path_active *a, u32 run)
{
	const struct dep_row_key key = { .a = a->node, .b = run };
	struct dep_path_transition *t;
	struct dep_path_fn *f;
	bool added;
	s64 i, to;

	i = dep_path_index(p, &p->transition_map, &key, &p->transition, sizeof(*t), &added);
	if (i < 0 || !added)
		return i;
	if (p->counts)
		return changed();
	to = find_node(p, a, run);
	if (to < 0)
		return to;
	f = dep_path_fn_at(p, a->function);
	t = dep_path_transition_at(p, (u32)i);
	t->from = a->node;
	t->to = (u32)to;
	t->next = f->first_transition;
	f->first_transition = (u32)i;
	return i;
}

/* The transition to @run, if it was looked up last; or DEP_PATH_NO. */
static inline u32 cached(const struct dep_path_pass *p, const struct dep_path_active *a, u32 run)
{
	const struct dep_path_node *n;

	if (a->node == DEP_PATH_NO)
		return DEP_PATH_NO;
	n = dep_path_node_at(p, a->node);
	if (n->cached[0].run == run)
		return n->cached[0].transition;
	return n->cached[1].run == run ? n->cached[1].transition : DEP_PATH_NO;
}

static s64 transition(struct dep_path_pass *p, const struct dep_path_active *a, u32 run)
{
	s64 i = find_transition(p, a, run);
	struct dep_path_node *n;

	if (i < 0)
		return i;
	n = dep_path_node_at(p, a->node);
	n->cached[1] = n->cached[0];
	n->cached[0].run = run;
	n->cached[0].transition = (u32)i;
	return i;
}

static inline int take_transition(struct dep_path_pass *p, struct dep_path_active *a, u32 i)
{
	struct dep_path_transition *t = dep_path_transition_at(p, i);

	a->node = t->to;
	t->count++;
	if (!p->counts || !dep_path_fn_at(p, a->function)->numbered)
		return 0;
	return apply(p, a, &t->effect);
}

static int go_on(struct dep_path_pass *p, struct dep_path_active *a, u32 run)
{
	s64 i = transition(p, a, run);

	return i < 0 ? (int)i : take_transition(p, a, (u32)i);
}

/* The path of @a ends: as a whole one over an edge to the exit, or where it is. */
static int finish(struct dep_path_pass *p, struct dep_path_active *a, bool whole)
{
	struct dep_path_node *n;
	u32 last;

	if (a->node == DEP_PATH_NO)
		return 0;
	n = dep_path_node_at(p, a->node);
	a->node = DEP_PATH_NO;
	if (!p->counts) {
		n->exits |= whole;
		return 0;
	}
	if (!dep_path_fn_at(p, a->function)->numbered) {
		p->not_counted++;
		return 0;
	}
	if (whole)
		return count(p, a->function, DEP_PATH_NO, a->sum + n->exit);
	last = *DEP_PATH_ROW(u32, p->chain, n->chain + n->blocks - 1);
	return count(p, a->function, last, a->sum);
}

static u8 last_branch(const struct dep_path_pass *p, const struct dep_path_active *a)
{
	return dep_path_run_at(p, dep_path_node_at(p, a->node)->run)->branch;
}

static bool is_tail(u8 branch)
{
	return branch == DEP_BRANCH_COND || branch == DEP_BRANCH_JUMP ||
	       branch == DEP_BRANCH_JUMP_INDIRECT || branch == DEP_BRANCH_RETURN;
}

/* Does the last branch of @a lead to @pc?  Otherwise control came there in another way. */
static bool leads_to(const struct dep_path_pass *p, const struct dep_path_active *a, u64 pc)
{
	const struct dep_path_run *r = dep_path_run_at(p, dep_path_node_at(p, a->node)->run);

	switch (r->branch) {
	case DEP_BRANCH_COND:
		return pc == r->next || pc == r->target;
	case DEP_BRANCH_JUMP:
		return pc == r->target;
	case DEP_BRANCH_JUMP_INDIRECT:
	case DEP_BRANCH_RETURN:
		return true;
	default:
		return pc == r->next;
	}
}

/* ---- activations ---- */

static int new_active(struct dep_path_pass *p, const struct dep_walk *w, u32 *tag)
{
	s64 function = function_at_work(p, w), i = p->free;

	if (function < 0)
		return (int)function;
	if (i)
		p->free = active_at(p, p->free)->free;
	else
		i = dep_path_add(p, &p->active, sizeof(struct dep_path_active));
	if (i < 0)
		return (int)i;
	*tag = (u32)i;
	*active_at(p, *tag) = (struct dep_path_active){
		.function = (u32)function, .node = DEP_PATH_NO, .context = w->ctx,
	};
	return 0;
}

/* A tail call leads to another function, or back to this one by way of others. */
static int change_context(struct dep_path_pass *p, const struct dep_walk *w,
			  struct dep_path_active *a)
{
	s64 function = function_at_work(p, w);
	int err;

	if (function < 0)
		return (int)function;
	a->context = w->ctx;
	if (a->function == (u32)function)
		return 0;
	err = a->node == DEP_PATH_NO ? 0 : finish(p, a, is_tail(last_branch(p, a)));
	a->function = (u32)function;
	return err;
}

static int execute(struct dep_path_pass *p, const struct dep_walk *w, u32 *tag, s64 run)
{
	int err = run < 0 ? (int)run : p->err;
	struct dep_path_active *a;
	u32 known;

	if (!err && !*tag)
		err = new_active(p, w, tag);
	if (err)
		return err;
	a = active_at(p, *tag);
	if (a->context != w->ctx)
		err = change_context(p, w, a);
	known = cached(p, a, (u32)run);
	if (!err && known != DEP_PATH_NO)
		return take_transition(p, a, known);
	if (!err && a->node != DEP_PATH_NO &&
	    !leads_to(p, a, dep_path_run_at(p, (u32)run)->start))
		err = finish(p, a, false);
	if (err)
		return err;
	return a->node == DEP_PATH_NO ? begin(p, a, (u32)run) : go_on(p, a, (u32)run);
}

static int take_step(void *self, const struct dep_walk *w, u32 *tag, u32 fragment, u32 step)
{
	struct dep_path_pass *p = self;
	u32 known = p->run_of_step[step];

	return execute(p, w, tag, known ? (s64)known - 1 :
		       dep_path_step_run(p, w, fragment, step));
}

static int take_piece(void *self, const struct dep_walk *w, u32 *tag, u32 fragment, u32 nsteps,
		      u32 to)
{
	return execute(self, w, tag, dep_path_piece_run(self, w, fragment, nsteps, to));
}

static void take_end(void *self, u32 tag)
{
	struct dep_path_pass *p = self;
	struct dep_path_active *a = active_at(p, tag);
	int err = 0;

	if (a->node != DEP_PATH_NO)
		err = finish(p, a, last_branch(p, a) == DEP_BRANCH_RETURN);
	if (!p->err)
		p->err = err;
	a->free = p->free;
	p->free = tag;
}

struct dep_follower dep_path_follower(struct dep_path_pass *p)
{
	return (struct dep_follower){
		.self = p, .step = take_step, .piece = take_piece, .end = take_end,
	};
}
