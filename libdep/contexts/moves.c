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
	m->hot = calloc(code->nexits + 1ull, sizeof(*m->hot));
	m->step = calloc(code->nsteps + 1ull, sizeof(*m->step));
	m->entry = calloc(code->nfragments + 1ull, 1);
	m->family = calloc(code->nfragments + 1ull, sizeof(*m->family));
	if (!m->exit || !m->hot || !m->step || !m->entry || !m->family)
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
	free(m->hot);
	free(m->step);
	free(m->entry);
	free(m->family);
	free(m->map);
	free(m->align);
	free(m);
}
