// SPDX-License-Identifier: LGPL-2.1-or-later
/* Decode the fragments of a store: what each exit does to the stack pointer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/codec/descriptor.h"
#include "libdep/format/file/error.h"
#include "libdep/format/read/store.h"
#include "rsp.h"

/* True for jmp [pointer] without an index: no switch jumps like this. */
static bool through_pointer(const struct x86_insn *in)
{
	return in->kind == X86_JMP_IND && in->nmem && in->mem[0].index == X86_NONE;
}

/* All of a move but the number of its struct dep_align. */
static void summarize(struct dep_move *to, const struct dep_rsp *r)
{
	s64 distance;

	to->how = r->now.how;
	to->by = (s32)r->now.by;
	if (to->how != DEP_RSP_ALIGN && to->by != r->now.by)
		to->how = DEP_RSP_SET;
	if (!r->framed)
		return;
	if (r->frame.how == DEP_RSP_ADD && r->frame.by == (s32)r->frame.by) {
		to->frame = (s32)r->frame.by;
		to->flags |= DEP_MOVE_FRAME;
	} else if (dep_rsp_frame(r, &distance) && distance == (s32)distance) {
		to->frame = -(s32)distance;
		to->flags |= DEP_MOVE_FRAME_BEHIND;
	}
}

static int set_move(struct dep_moves *m, struct dep_move *to, const struct dep_rsp *r)
{
	struct dep_align *more;
	size_t room;

	summarize(to, r);
	if (to->how != DEP_RSP_ALIGN)
		return 0;
	if (m->naligns == m->room) {
		room = m->room ? 2 * m->room : 64;
		if (room > INT32_MAX)
			return -ENOMEM;
		more = realloc(m->align, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		m->align = more;
		m->room = room;
	}
	to->by = (s32)m->naligns;
	m->align[m->naligns++] = r->now.align;
	return 0;
}

static int is_jump(u8 branch)
{
	return branch >= DEP_BRANCH_JUMP && branch <= DEP_BRANCH_RETURN;
}

static u8 op_of(u8 branch, u8 how, u8 flags)
{
	switch (branch) {
	case DEP_BRANCH_CALL:
	case DEP_BRANCH_CALL_INDIRECT:
		return DEP_OP_CALL;
	case DEP_BRANCH_RETURN:
		return DEP_OP_RETURN;
	case DEP_BRANCH_JUMP_INDIRECT:
		return DEP_OP_JUMP;
	default:
		return how == DEP_RSP_ADD && !(flags & DEP_MOVE_FRAMES) ? DEP_OP_PLAIN :
									 DEP_OP_CHANGE;
	}
}

/* Fill in all exits of a fragment that end behind @insns instructions. */
static int set_exits(struct dep_moves *m, u32 fragment, u32 insns, const struct dep_rsp *r)
{
	const struct dep_code_fragment *f = m->code->fragment + fragment;
	const struct dep_code_exit *x;
	struct dep_exit_move *to;
	u32 i, k;
	int err;

	for (i = f->first_exit; i < f->first_exit + f->nexits; i++) {
		x = m->code->exit + i;
		if (x->insns != insns || x->nsteps > f->nsteps)
			continue;
		to = m->exit + i;
		err = set_move(m, &to->move, r);
		if (err)
			return err;
		to->insns = x->insns;
		to->refs = x->refs;
		to->fragment = fragment;
		to->step = f->first_step + (x->nsteps ? x->nsteps - 1u : 0);
		to->op = op_of(x->branch, to->move.how, to->move.flags);
		if (x->nsteps) {
			to->next = m->code->step[to->step].next;
			to->move.flags |= m->step[to->step].flags & ~DEP_MOVE_FRAMES;
			to->move.pops = m->step[to->step].pops;
		}
		for (k = 0; k < x->nsteps; k++)
			to->branches += is_jump(m->code->step[f->first_step + k].branch);
	}
	return 0;
}

static int learn_fragment(struct dep_moves *m, u32 fragment)
{
	const struct adept_desc_frag *d = dep_store_fragment(m->store, fragment)->d;
	const struct dep_code_fragment *f = m->code->fragment + fragment;
	struct dep_desc_at at = { 0 };
	struct dep_rsp r = { 0 };
	struct dep_move *to;
	struct x86_insn in;
	u32 step = 0;
	int err;

	err = set_exits(m, fragment, 0, &r);
	while (!err && f->nexits && at.insn < d->ninsns && !dep_desc_insn(d, &at, &in)) {
		dep_rsp_insn(&r, &in);
		for (; step < f->nsteps && !err; step++) {
			if (m->code->step[f->first_step + step].insns > at.insn)
				break;
			to = m->step + f->first_step + step;
			err = set_move(m, to, &r);
			if (through_pointer(&in))
				to->flags |= DEP_MOVE_POINTER;
			if (in.kind == X86_RET)
				to->pops = (u16)in.imm;
		}
		if (!err)
			err = set_exits(m, fragment, at.insn, &r);
	}
	return err;
}

void dep_moves_between(const struct dep_moves *m, u32 fragment, u32 from, u32 to,
		       struct dep_move *move, struct dep_align *align, u32 *refs)
{
	const struct adept_desc_frag *d = dep_store_fragment(m->store, fragment)->d;
	struct dep_desc_at at = { 0 };
	struct dep_rsp r = { 0 };
	struct x86_insn in;

	*refs = 0;
	while (at.insn < d->ninsns && at.insn < to) {
		if (dep_desc_insn(d, &at, &in))
			break;
		if (at.insn <= from)
			continue;
		dep_rsp_insn(&r, &in);
		*refs += in.nmem;
	}
	*move = (struct dep_move){ 0 };
	summarize(move, &r);
	*align = r.now.align;
}

/* ---- fragments by address ---- */

static u64 hash(u32 family, u64 pc)
{
	u64 h = (pc ^ (u64)family << 48) * 0x9e3779b97f4a7c15ull;

	return h ^ h >> 29;
}

static s64 find(const struct dep_moves *m, u32 family, u64 pc)
{
	u32 i, n;

	for (i = (u32)hash(family, pc) & m->map_mask; (n = m->map[i]); i = (i + 1) & m->map_mask)
		if (m->code->fragment[n - 1].pc == pc && m->family[n - 1] == family)
			return n - 1;
	return -1;
}

/* The process that @serial was forked from, by way of others: it has the same code. */
static u32 first_process(struct dep_store *store, u32 serial)
{
	const struct dep_process *p;
	int depth;

	for (depth = 0; depth < 64; depth++) {
		p = dep_model_process(&store->model, serial);
		if (!p || p->cause != ADEPT_BY_FORK || !p->parent)
			break;
		serial = p->parent;
	}
	return serial;
}

s64 dep_moves_at(const struct dep_moves *m, u32 process, u64 pc)
{
	return find(m, first_process(m->store, process), pc);
}

s64 dep_moves_find(const struct dep_moves *m, u32 fragment, u64 pc)
{
	return find(m, m->family[fragment], pc);
}

static int make_map(struct dep_moves *m)
{
	u32 n = m->code->nfragments, i, at, process = 0, family = 0;
	u64 size = 16;

	while (size < 2ull * n)
		size *= 2;
	m->map = calloc(size, sizeof(*m->map));
	if (!m->map)
		return -ENOMEM;
	m->map_mask = (u32)(size - 1);
	for (i = 0; i < n; i++) {
		if (!i || m->code->fragment[i].process != process) {
			process = m->code->fragment[i].process;
			family = first_process(m->store, process);
		}
		m->family[i] = family;
		if (find(m, family, m->code->fragment[i].pc) >= 0)
			continue;
		at = (u32)hash(family, m->code->fragment[i].pc) & m->map_mask;
		while (m->map[at])
			at = (at + 1) & m->map_mask;
		m->map[at] = i + 1;
	}
	return 0;
}

/* ---- entries of functions ---- */

/* Branches that were seen last: most go again where they went before. */
#define SEEN	4096u

struct entries {
	struct dep_moves *m;
	u8 *entry;		/* by first fragment of each pc */
	u8 *leads;		/* by number of an exit: its target is an entry */
	u32 nsequences;		/* sequences with lower numbers have been seen */
	struct { u32 exit, next; } seen[SEEN];
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
	e->nsequences = 1;
	for (i = 1; i < code->nexits; i++)
		e->leads[i] = leads_to_entry(m, i);
	return e;
}

static void add_entry(struct entries *e, const struct dep_exit_move *x, u64 pc)
{
	s64 n = dep_moves_find(e->m, x->fragment, pc);

	/* A call of the next instruction reads its own address. */
	if (n >= 0 && (x->op != DEP_OP_CALL || pc != x->next))
		e->entry[n] = 1;
}

/* The thread went on from exit @exit[0] to the fragment of @exit[1]. */
static inline void went_on(struct entries *e, const u32 *exit)
{
	const struct dep_fragments *code = e->m->code;
	u32 at;

	if (!e->leads[exit[0]])
		return;
	at = (exit[0] * 61u ^ exit[1] * 7u) % SEEN;
	if (e->seen[at].exit == exit[0] && e->seen[at].next == exit[1])
		return;
	e->seen[at].exit = exit[0];
	e->seen[at].next = exit[1];
	add_entry(e, e->m->exit + exit[0], code->fragment[code->exit[exit[1]].fragment].pc);
}

static int entries_sequences(void *part, const u32 *exit, size_t n, u64 next_pc,
			     const u32 *sequence)
{
	struct entries *e = part;
	size_t i = 0, end, group;

	for (group = 0; group < n / DEP_FOLD_SEQUENCE; group++) {
		end = i + DEP_FOLD_SEQUENCE;
		if (sequence[group] && sequence[group] < e->nsequences)
			i = end - 1;	/* the rest of it was seen when it got its number */
		else if (sequence[group])
			e->nsequences++;
		for (; i < end && i + 1 < n; i++)
			went_on(e, exit + i);
	}
	for (; i + 1 < n; i++)
		went_on(e, exit + i);
	/* A fragment without code is at address 0; @next_pc is 0 if it is not known. */
	if (e->leads[exit[n - 1]] && next_pc)
		add_entry(e, e->m->exit + exit[n - 1], next_pc);
	return 0;
}

static int entries_forget(void *part)
{
	struct entries *e = part;

	e->nsequences = 1;
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

static int no_segment(void *part, const struct dep_fold_segment *seg)
{
	(void)part;
	(void)seg;
	return 0;
}

static int no_event(void *part, const struct dep_event *event)
{
	(void)part;
	(void)event;
	return 0;
}

static int no_gap(void *part, const struct dep_thread *thread)
{
	(void)part;
	(void)thread;
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
		n = find(m, m->family[i], m->code->fragment[i].pc);
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

static bool fits(u32 n)
{
	return n <= UINT8_MAX;
}

static void make_brief(struct dep_moves *m)
{
	const struct dep_exit_move *x = m->exit;
	u32 i;

	for (i = 0; i < m->code->nexits; i++, x++)
		m->brief[i] = (struct dep_exit_brief){
			.by = x->move.by, .insns = (u8)x->insns, .refs = (u8)x->refs,
			.branches = (u8)x->branches,
			.plain = x->op == DEP_OP_PLAIN && fits(x->insns) && fits(x->refs) &&
				 fits(x->branches),
		};
	/* Number 0 is no exit. */
	for (i = 1; i < m->code->nexits; i++)
		m->start[i] = m->code->fragment[m->code->exit[i].fragment].pc;
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

int dep_moves_entries(struct dep_moves *m, unsigned int jobs,
		      bool (*leaves)(void *arg, u32 process, u64 from, u64 to), void *arg)
{
	static const struct dep_fold fold = {
		.name = "entries", .part = entries_part, .segment = no_segment,
		.sequences = entries_sequences, .forget = entries_forget, .event = no_event,
		.gap = no_gap, .join = entries_join,
	};
	const struct dep_fold_options options = { .jobs = jobs };
	const struct dep_fold *folds[] = { &fold };
	void *selves[] = { m };
	u32 i;
	int err;

	for (i = 0; i < m->code->nfragments; i++)
		add_called(m, i);
	for (i = 0; leaves && i < m->code->nfragments; i++)
		add_left_to(m, i, leaves, arg);
	err = dep_fold_run(m->store, m->code, folds, selves, 1, &options, NULL);
	if (err)
		return err;
	mark_jumps(m);
	make_brief(m);
	return 0;
}

/* ---- all of it ---- */

int dep_moves_make(struct dep_store *store, const struct dep_fragments *code,
		   struct dep_moves **out)
{
	struct dep_moves *m = calloc(1, sizeof(*m));
	int err = -ENOMEM;
	u32 i;

	if (!m)
		return dep_fail(-ENOMEM, "contexts");
	m->store = store;
	m->code = code;
	m->exit = calloc(code->nexits + 1ull, sizeof(*m->exit));
	m->brief = calloc(code->nexits + 1ull, sizeof(*m->brief));
	m->start = calloc(code->nexits + 1ull, sizeof(*m->start));
	m->step = calloc(code->nsteps + 1ull, sizeof(*m->step));
	m->entry = calloc(code->nfragments + 1ull, 1);
	m->family = calloc(code->nfragments + 1ull, sizeof(*m->family));
	if (!m->exit || !m->brief || !m->start || !m->step || !m->entry || !m->family)
		goto fail;
	err = make_map(m);
	for (i = 0; i < code->nfragments && !err; i++)
		err = learn_fragment(m, i);
	if (err)
		goto fail;
	*out = m;
	return 0;
fail:
	dep_moves_free(m);
	return dep_fail(err, "contexts");
}

void dep_moves_free(struct dep_moves *m)
{
	if (!m)
		return;
	free(m->exit);
	free(m->brief);
	free(m->start);
	free(m->step);
	free(m->entry);
	free(m->family);
	free(m->map);
	free(m->align);
	free(m);
}
