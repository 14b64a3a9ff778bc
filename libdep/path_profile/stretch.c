// SPDX-License-Identifier: LGPL-2.1-or-later
/* Stretches: what an activation executes at once, behind what it has executed. */
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/error.h"
#include "pass.h"

/* ---- runs of what is executed ---- */

/** struct runs - the runs of an exit, or one run */
struct runs {
	struct dep_path_pass *p;
	const struct dep_walk *w;
	const struct dep_path_executed *what;
	u32 i, n;
};

/* Instructions of an exit behind its last branch are a run too. */
static bool has_piece(const struct dep_path_pass *p, const struct dep_code_exit *x)
{
	const struct dep_code_fragment *f = p->code->fragment + x->fragment;
	u32 insns = x->nsteps ? p->code->step[f->first_step + x->nsteps - 1].insns : 0;

	return x->insns > insns;
}

static struct runs runs_of(struct dep_path_pass *p, const struct dep_walk *w,
			   const struct dep_path_executed *what)
{
	struct runs r = { .p = p, .w = w, .what = what, .n = 1 };
	const struct dep_code_exit *x = p->code->exit + what->exit;

	if (!what->run)
		r.n = x->nsteps + has_piece(p, x);
	return r;
}

/* The next run; its index or an error. */
static s64 next_run(struct runs *r)
{
	const struct dep_code_exit *x = r->p->code->exit + r->what->exit;
	u32 i = r->i++;

	if (r->what->run)
		return r->what->run - 1;
	if (i < x->nsteps)
		return dep_path_step_run(r->p, r->w, x->fragment,
					 r->p->code->fragment[x->fragment].first_step + i);
	return dep_path_piece_run(r->p, r->w, x->fragment, x->nsteps, x->insns);
}

/* ---- nodes and transitions; they are new in the first pass only ---- */

static s64 find_node(struct dep_path_pass *p, u32 function, u32 run)
{
	const struct dep_row_key key = { .a = function, .b = run };
	struct dep_path_node *n;
	struct dep_path_fn *f;
	bool added;
	s64 i = dep_row_find(&p->node_map, &key);

	if (i >= 0)
		return i;
	if (p->counts)
		return dep_path_changed();
	i = dep_path_index(p, &p->node_map, &key, &p->node, sizeof(*n), &added);
	if (i < 0)
		return i;
	f = dep_path_fn_at(p, function);
	n = dep_path_node_at(p, (u32)i);
	n->function = function;
	n->run = run;
	n->next = f->first_node;
	f->first_node = (u32)i;
	return i;
}

/* A path begins with @run; its node. */
static s64 begin(struct dep_path_pass *p, u32 function, u32 run)
{
	s64 i = find_node(p, function, run);
	struct dep_path_node *n;

	if (i < 0)
		return i;
	n = dep_path_node_at(p, (u32)i);
	if (p->counts && !n->begins)
		return dep_path_changed();
	n->begins = true;
	return i;
}

static s64 find_transition(struct dep_path_pass *p, u32 function, u32 node, u32 run)
{
	const struct dep_row_key key = { .a = node, .b = run };
	struct dep_path_transition *t;
	struct dep_path_fn *f;
	bool added;
	s64 i = dep_row_find(&p->transition_map, &key), to;

	if (i >= 0)
		return i;
	if (p->counts)
		return dep_path_changed();
	to = find_node(p, function, run);
	if (to < 0)
		return to;
	i = dep_path_index(p, &p->transition_map, &key, &p->transition, sizeof(*t), &added);
	if (i < 0)
		return i;
	f = dep_path_fn_at(p, function);
	t = dep_path_transition_at(p, (u32)i);
	t->from = node;
	t->to = (u32)to;
	t->next = f->first_transition;
	f->first_transition = (u32)i;
	return i;
}

/* @s goes on from its last node to @run. */
static int pass(struct dep_path_pass *p, struct dep_path_stretch *s, u32 run)
{
	s64 i = find_transition(p, s->function, s->node, run), place;

	if (i < 0)
		return (int)i;
	place = dep_path_add(p, &p->passed, sizeof(u32));
	if (place < 0)
		return (int)place;
	*DEP_PATH_ROW(u32, p->passed, place) = (u32)i;
	s->node = dep_path_transition_at(p, (u32)i)->to;
	s->n++;
	return 0;
}

/* Does the last branch of @at lead to @pc?  Otherwise control came there in another way. */
static bool leads_to(const struct dep_path_pass *p, const struct dep_path_stretch *at, u64 pc)
{
	const struct dep_path_run *r = dep_path_last_run(p, at);

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

/* ---- stretches ---- */

static s64 add_stretch(struct dep_path_pass *p, const struct dep_path_stretch *s)
{
	s64 i = dep_path_add(p, &p->hot, sizeof(struct dep_stretch));

	if (i >= 0)
		i = dep_path_add(p, &p->stretch, sizeof(*s));
	if (i < 0)
		return i;
	*dep_path_stretch_at(p, (u32)i) = *s;
	p->follower.stretch = p->hot.row;
	return i;
}

s64 dep_path_stretch_begin(struct dep_path_pass *p, u32 function)
{
	const struct dep_path_stretch s = {
		.function = function, .from = DEP_PATH_NO, .node = DEP_PATH_NO,
	};

	return add_stretch(p, &s);
}

/* The runs of @s, which has the node in front of them. */
static int execute(struct runs *r, struct dep_path_stretch *s)
{
	s64 run, node;
	int err = 0;

	while (r->i < r->n && !err) {
		run = next_run(r);
		if (run < 0)
			return (int)run;
		if (s->node != DEP_PATH_NO) {
			err = pass(r->p, s, (u32)run);
			continue;
		}
		node = begin(r->p, s->function, (u32)run);
		if (node < 0)
			return (int)node;
		s->first = s->node = (u32)node;
	}
	return err;
}

static s64 make(struct dep_path_pass *p, struct runs *r, const struct dep_path_stretch *from)
{
	struct dep_path_stretch s = {
		.function = from->function, .from = from->node, .node = from->node,
		.passed = (u32)p->passed.n,
	};
	int err = execute(r, &s);
	s64 i;

	if (err)
		return err;
	i = add_stretch(p, &s);
	if (i >= 0 && p->counts)
		err = dep_path_stretch_effect(p, (u32)i);
	return err ? err : i;
}

static u64 start_of(const struct dep_path_pass *p, const struct dep_path_executed *what)
{
	if (what->run)
		return dep_path_run_at(p, what->run - 1)->start;
	return p->code->fragment[p->code->exit[what->exit].fragment].pc;
}

s64 dep_path_stretch_next(struct dep_path_pass *p, const struct dep_walk *w, u32 from,
			  const struct dep_path_executed *what)
{
	const struct dep_path_stretch s = *dep_path_stretch_at(p, from);
	bool begins = s.node == DEP_PATH_NO;
	const struct dep_row_key key = {
		.a = (u64)what->run << 32 | what->exit, .b = begins ? s.function : s.node,
		.c = begins,
	};
	s64 i = dep_row_find(&p->stretch_map, &key);
	struct runs r;

	if (i >= 0)
		return i;
	if (!begins && !leads_to(p, &s, start_of(p, what)))
		return 0;
	r = runs_of(p, w, what);
	if (!r.n)
		return from;
	i = make(p, &r, &s);
	if (i < 0)
		return i;
	return dep_row_set(&p->stretch_map, &key, (u32)i) ? dep_fail(-ENOMEM, "paths") : i;
}
