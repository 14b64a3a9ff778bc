// SPDX-License-Identifier: LGPL-2.1-or-later
/* What transitions and stretches do to paths, worked out once. */
#include <errno.h>

#include "libdep/format/file/error.h"
#include "pass.h"

static int wrong(const struct dep_path_fn *f)
{
	return dep_fail(-EINVAL, "paths of the function at %#llx", (unsigned long long)f->pc);
}

/* Follow an edge, with the sum since the last end in @walk. */
static int follow(struct dep_path_pass *p, const struct dep_path_fn *f,
		  struct dep_path_walk *walk, u32 to, struct dep_path_effect *e)
{
	u64 number;
	s64 place;

	switch (dep_path_step(&f->paths, walk, dep_path_find_edge(&f->graph, walk->at, to),
			      &number)) {
	case DEP_PATH_GOES_ON:
	case DEP_PATH_LOOPED:
		return 0;
	case DEP_PATH_ENDED:
		break;
	default:
		return wrong(f);
	}
	if (!e->ends++) {
		e->add = number;
		return 0;
	}
	place = dep_path_add(p, &p->middle, sizeof(u64));
	if (place < 0)
		return (int)place;
	if (e->ends == 2)
		e->middle = (u32)place;
	*DEP_PATH_ROW(u64, p->middle, place) = number;
	return 0;
}

/* Follow the blocks of a node from number @from on. */
static int follow_chain(struct dep_path_pass *p, const struct dep_path_fn *f,
			struct dep_path_walk *walk, const struct dep_path_node *n, u32 from,
			struct dep_path_effect *e)
{
	u32 i;
	int err = 0;

	for (i = from; i < n->blocks && !err; i++)
		err = follow(p, f, walk, *DEP_PATH_ROW(u32, p->chain, n->chain + i), e);
	if (e->ends)
		e->base = walk->sum;
	else
		e->add = walk->sum;
	return err;
}

static int node_effects(struct dep_path_pass *p, const struct dep_path_fn *f,
			struct dep_path_node *n)
{
	u32 first = *DEP_PATH_ROW(u32, p->chain, n->chain), edge;
	u32 last = *DEP_PATH_ROW(u32, p->chain, n->chain + n->blocks - 1);
	struct dep_path_walk walk;

	if (n->exits) {
		edge = dep_path_find_edge(&f->graph, last, DEP_PATH_EXIT);
		if (edge == DEP_PATH_NONE || f->paths.arc_of[edge] == DEP_PATH_NONE)
			return wrong(f);
		n->exit = f->paths.arc[f->paths.arc_of[edge]].value;
	}
	if (!n->begins)
		return 0;
	if (dep_path_enter(&f->paths, &walk, first, !first))
		return wrong(f);
	return follow_chain(p, f, &walk, n, 1, &n->begin);
}

int dep_path_effects(struct dep_path_pass *p, u32 i)
{
	const struct dep_path_fn *f = dep_path_fn_at(p, i);
	struct dep_path_transition *t;
	struct dep_path_walk walk;
	int err = 0;
	u32 at;

	for (at = f->first_node; at != DEP_PATH_NO && !err; at = dep_path_node_at(p, at)->next)
		err = node_effects(p, f, dep_path_node_at(p, at));
	for (at = f->first_transition; at != DEP_PATH_NO && !err; at = t->next) {
		const struct dep_path_node *from;

		t = dep_path_transition_at(p, at);
		from = dep_path_node_at(p, t->from);
		walk = (struct dep_path_walk){
			.at = *DEP_PATH_ROW(u32, p->chain, from->chain + from->blocks - 1),
		};
		err = follow_chain(p, f, &walk, dep_path_node_at(p, t->to), 0, &t->effect);
	}
	return err;
}

/* ---- stretches ---- */

/* @s ends another path, which began within it. */
static int add_later(struct dep_path_pass *p, struct dep_path_stretch *s, u64 number)
{
	s64 place = dep_path_add(p, &p->later, sizeof(u64));

	if (place < 0)
		return (int)place;
	*DEP_PATH_ROW(u64, p->later, place) = number;
	s->nlater++;
	return 0;
}

static int compose(struct dep_path_pass *p, struct dep_path_stretch *s, struct dep_stretch *to,
		   const struct dep_path_effect *e)
{
	bool ended = to->flags & DEP_STRETCH_ENDS;
	int err = 0;
	u32 i;

	if (ended && e->ends)
		err = add_later(p, s, to->base + e->add);
	for (i = 1; i < e->ends && !err; i++)
		err = add_later(p, s, *DEP_PATH_ROW(u64, p->middle, e->middle + i - 1));
	if (!ended)
		to->add += e->add;
	if (e->ends)
		to->base = e->base;
	else if (ended)
		to->base += e->add;
	if (e->ends)
		to->flags |= DEP_STRETCH_ENDS;
	return err;
}

int dep_path_stretch_effect(struct dep_path_pass *p, u32 stretch)
{
	struct dep_path_stretch *s = dep_path_stretch_at(p, stretch);
	const struct dep_path_fn *f = dep_path_fn_at(p, s->function);
	struct dep_stretch *to = dep_path_hot_at(p, stretch);
	const struct dep_path_node *n;
	int err = 0;
	u32 i;

	to->flags = 0;
	to->counter = NULL;
	if (s->node == DEP_PATH_NO)
		return 0;
	n = dep_path_node_at(p, s->node);
	if (!f->numbered) {
		to->flags = n->exits ? DEP_STRETCH_WHOLE : 0;
		to->counter = &p->not_counted;
		return 0;
	}
	s->later = (u32)p->later.n;
	if (s->from == DEP_PATH_NO)
		err = compose(p, s, to, &dep_path_node_at(p, s->first)->begin);
	for (i = 0; i < s->n && !err; i++)
		err = compose(p, s, to, &dep_path_passed(p, s, i)->effect);
	to->counter = f->count;
	if (!err && n->exits && f->count) {
		to->flags |= DEP_STRETCH_WHOLE;
		to->last = n->exit;
	}
	return err;
}
