// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which fragments begin functions: the targets of calls.
 *
 * Those of direct calls are in the code.  Those of indirect ones are found by a pass over the store
 * or in the counts of branches, if the caller has them.
 *
 * Tried: to find them while the stacks are followed, and begin again if a place turns out to be an
 * entry that was taken for another one.  Two of four programs first call such a function, to which
 * they jumped before, late in the recording, so they took longer than with two passes.
 */
#include <stdlib.h>

#include "dep/fold.h"
#include "moves.h"

struct entries {
	struct dep_moves *m;
	u8 *entry;		/* by first fragment of each pc */
	u8 *leads;		/* by number of an exit: its target is an entry */
};

static void free_entries(struct entries *e)
{
	free(e->entry);
	free(e->leads);
	free(e);
}

/* True for indirect calls, and for jumps through pointers.  add_called() has the direct calls. */
static bool leads_to_entry(const struct dep_moves *m, u32 number)
{
	const struct dep_exit_move *x = m->exit + number;

	if (m->code->exit[number].target)
		return false;
	return x->op == DEP_OP_CALL ||
	       (x->op == DEP_OP_JUMP && x->move.flags & DEP_MOVE_POINTER);
}

static void *entries_part(void *self, const struct dep_fragments *code)
{
	struct dep_moves *m = self;
	struct entries *e = calloc(1, sizeof(*e));
	u32 i;

	if (!e)
		return NULL;
	e->entry = calloc(code->nfragments + 1ull, 1);
	e->leads = calloc(code->nexits, 1);
	if (!e->entry || !e->leads) {
		free_entries(e);
		return NULL;
	}
	e->m = m;
	for (i = 1; i < code->nexits; i++)
		e->leads[i] = leads_to_entry(m, i);
	return e;
}

static const u8 *entries_marked(void *part)
{
	return ((struct entries *)part)->leads;
}

static int entries_leads(void *part, u32 exit, u64 next_pc)
{
	struct entries *e = part;
	const struct dep_exit_move *x = e->m->exit + exit;
	s64 n = next_pc ? dep_moves_find(e->m, x->fragment, next_pc) : -1;

	/* A call of the next instruction reads its own address. */
	if (n >= 0 && (x->op != DEP_OP_CALL || next_pc != x->next))
		e->entry[n] = 1;
	return 0;
}

static int entries_join(void *self, void *part)
{
	struct dep_moves *m = self;
	struct entries *e = part;
	u32 i;

	for (i = 0; i < m->code->nfragments; i++)
		m->entry[i] |= e->entry[i];
	free_entries(e);
	return 0;
}

/* Mark the steps that jump to entries. */
static void mark_steps(struct dep_moves *m, u32 fragment)
{
	const struct dep_code_fragment *f = m->code->fragment + fragment;
	const struct dep_branch_step *step;
	u32 k;
	s64 n;

	for (k = f->first_step; k < f->first_step + f->nsteps; k++) {
		step = m->code->step + k;
		if (step->branch != DEP_BRANCH_JUMP && step->branch != DEP_BRANCH_COND)
			continue;
		n = dep_moves_find(m, fragment, step->target);
		if (n >= 0 && m->entry[n])
			m->step[k].flags |= DEP_MOVE_ENTRY;
	}
}

/* Mark an exit that reaches an entry by a direct jump. */
static void mark_exit(struct dep_moves *m, u32 number)
{
	const struct dep_code_exit *x = m->code->exit + number;
	u32 first = m->code->fragment[x->fragment].first_step, k;
	const struct dep_branch_step *step = m->code->step + first;
	const struct dep_move *move = m->step + first;
	struct dep_exit_move *to = m->exit + number;

	for (k = 0; k < x->nsteps; k++) {
		if (!(move[k].flags & DEP_MOVE_ENTRY))
			continue;
		if (k + 1u == x->nsteps && (step[k].branch == DEP_BRANCH_JUMP || x->taken))
			to->op = DEP_OP_TAIL;
		else if (k + 1u < x->nsteps && step[k].branch == DEP_BRANCH_JUMP)
			to->op = DEP_OP_STEPS;
		if (to->op == DEP_OP_STEPS)
			break;
	}
}

static void mark_jumps(struct dep_moves *m)
{
	u32 i;
	s64 n;

	for (i = 0; i < m->code->nfragments; i++) {
		n = dep_moves_find(m, i, m->code->fragment[i].pc);
		m->entry[i] = m->entry[n >= 0 ? (u32)n : i];
	}
	for (i = 0; i < m->code->nfragments; i++)
		mark_steps(m, i);
	for (i = 1; i < m->code->nexits; i++)
		mark_exit(m, i);
}

/* Targets of direct calls, except calls of the next instruction. */
static void add_called(struct dep_moves *m, u32 fragment)
{
	const struct dep_code_fragment *f = m->code->fragment + fragment;
	const struct dep_branch_step *step = m->code->step + f->first_step;
	u32 k;
	s64 n;

	for (k = 0; k < f->nsteps; k++) {
		if (step[k].branch != DEP_BRANCH_CALL || step[k].target == step[k].next)
			continue;
		n = dep_moves_find(m, fragment, step[k].target);
		if (n >= 0)
			m->entry[n] = 1;
	}
}

/* Direct jumps to functions by the caller's word.  A fragment can go on there. */
static void add_left_to(struct dep_moves *m, u32 fragment,
			bool (*leaves)(void *arg, u32 process, u64 from, u64 to), void *arg)
{
	const struct dep_code_fragment *f = m->code->fragment + fragment;
	const struct dep_branch_step *step = m->code->step + f->first_step;
	u32 k;
	s64 n;

	for (k = 0; k < f->nsteps; k++) {
		if (step[k].branch != DEP_BRANCH_JUMP)
			continue;
		n = dep_moves_find(m, fragment, step[k].target);
		if ((n >= 0 && m->entry[n]) ||
		    !leaves(arg, f->process, step[k].pc, step[k].target))
			continue;
		m->step[f->first_step + k].flags |= DEP_MOVE_ENTRY;
		if (n >= 0)
			m->entry[n] = 1;
	}
}

/* ---- entries from counts ---- */

/** struct source - a branch that may lead to an entry, or not; @next: of a call */
struct source {
	u64 pc, next;
	u32 family;
	bool leads;
};

static int compare_sources(const void *a, const void *b)
{
	const struct source *x = a, *y = b;

	if (x->family != y->family)
		return x->family < y->family ? -1 : 1;
	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

/* The indirect calls and jumps of all fragments.  Return: their number. */
static size_t list_sources(const struct dep_moves *m, struct source *to)
{
	const struct dep_branch_step *step = m->code->step;
	size_t n = 0;
	u32 i, k;
	bool call;

	for (i = 0; i < m->code->nfragments; i++)
		for (k = 0; k < m->code->fragment[i].nsteps; k++) {
			step = m->code->step + m->code->fragment[i].first_step + k;
			call = step->branch == DEP_BRANCH_CALL_INDIRECT;
			if (!call && step->branch != DEP_BRANCH_JUMP_INDIRECT)
				continue;
			to[n++] = (struct source){
				.pc = step->pc, .next = call ? step->next : 0,
				.family = m->family[i],
				.leads = call || m->step[step - m->code->step].flags &
						 DEP_MOVE_POINTER,
			};
		}
	return n;
}

/* Keep one of each.  Return: their number, or 0 if the code of one has changed in between. */
static size_t unite_sources(struct source *source, size_t n)
{
	size_t i, to = 0;

	qsort(source, n, sizeof(*source), compare_sources);
	for (i = 0; i < n; i++) {
		if (!to || compare_sources(source + to - 1, source + i))
			source[to++] = source[i];
		else if (source[to - 1].next != source[i].next ||
			 source[to - 1].leads != source[i].leads)
			return 0;
	}
	return to;
}

static void add_counted(struct dep_moves *m, const struct source *all, size_t nsources,
			const struct dep_edge_count *edge)
{
	struct source key = { .pc = edge->from }, *found;
	s64 n = dep_moves_at(m, edge->process, edge->to);

	if (n < 0 || !edge->to)
		return;
	key.family = m->family[n];
	found = bsearch(&key, all, nsources, sizeof(*all), compare_sources);
	if (found && found->leads && edge->to != found->next)
		m->entry[n] = 1;
}

/* Return: false if a pass is needed: there is no memory, or an address had two instructions. */
static bool add_all_counted(struct dep_moves *m, const struct dep_profile *counts)
{
	struct source *source = calloc(m->code->nsteps + 1ull, sizeof(*source));
	size_t n, all, i;

	if (!source)
		return false;
	all = list_sources(m, source);
	n = unite_sources(source, all);
	for (i = 0; n && i < counts->nedges; i++)
		if (counts->edge[i].kind == DEP_BRANCH_CALL_INDIRECT ||
		    counts->edge[i].kind == DEP_BRANCH_JUMP_INDIRECT)
			add_counted(m, source, n, counts->edge + i);
	free(source);
	return n || !all;
}

/* ---- all of it ---- */

static int add_by_pass(struct dep_moves *m, unsigned int jobs)
{
	static const struct dep_fold fold = {
		.name = "entries", .part = entries_part, .marked = entries_marked,
		.leads = entries_leads, .join = entries_join,
	};
	const struct dep_fold_options options = { .jobs = jobs };
	const struct dep_fold *folds[] = { &fold };
	void *selves[] = { m };

	return dep_fold_run(m->store, m->code, folds, selves, 1, &options, NULL);
}

int dep_moves_entries(struct dep_moves *m, const struct dep_moves_source *from)
{
	int err = 0;
	u32 i;

	for (i = 0; i < m->code->nfragments; i++)
		add_called(m, i);
	for (i = 0; from->leaves && i < m->code->nfragments; i++)
		add_left_to(m, i, from->leaves, from->arg);
	if (!from->counts || !add_all_counted(m, from->counts))
		err = add_by_pass(m, from->jobs);
	if (!err)
		mark_jumps(m);
	return err;
}
