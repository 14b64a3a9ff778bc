// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Build a fragment version: scan the code, plan what is recorded, emit.  Layout of the emitted
 * code:
 *
 *	call entry:	lea rsp, [rsp+8]	drops a native call's return address
 *	entry:		of a hooked function: check of the return address;
 *			of a function of a trigger, or its return: an exit that is always taken
 *			instructions, value stores
 *			last exit
 *			side exits: ends of records, for conditional branches
 *
 *	cold part:	exit stubs to the dispatcher, literals
 */
#include "translate.h"
#include "libdep/engine/base/chaos.h"
#include "libdep/engine/record/record.h"
#include "libdep/engine/record/triggers.h"
#include "libdep/engine/hooks/hooks.h"

static void emit_body(struct build *b)
{
	u32 x = 0;

	for (unsigned int n = 0; n < b->n; n++) {
		const struct build_insn *bi = &b->ins[n];

		reserved_reg_load(b, n);
		record_emit_before(b, n);
		switch (bi->in.kind) {
		case X86_JCC:
		case X86_LOOP:
			while (b->exits[x].insn != n)
				x++;
			exits_emit_branch(b, n, &b->exits[x++]);
			b->run_open = 0;
			break;
		case X86_JMP:
			b->run_open = 0;
			break;
		case X86_CALL:
		case X86_CALL_IND:
		case X86_JMP_IND:
		case X86_RET:
		case X86_SYSCALL:
			break;
		default:
			if (mangle_needed(bi)) {
				mangle_insn(b, n);
			} else {
				emit_state(b, STATE_RUN, n, X86_NONE, X86_NONE, X86_NONE);
				emit_bytes(&b->e, bi->raw, bi->in.len);
			}
		}
		reserved_reg_spill(b, n);
		record_emit_after(b, n);
	}
}

/* Emit the fragment planned in @b; NULL if a table overflowed. */
static struct frag *emit_fragment(struct build *b, struct arena *a)
{
	struct frag *f;

	build_begin(b, a);
	if (!a) {
		emit_state(b, STATE_ENTRY_CALL, 0, X86_NONE, X86_NONE, X86_NONE);
		emit_lea_rsp(&b->e, 8);
		b->entry = EMIT_LEA_RSP_LEN;
	}
	if (!b->n)
		emit_state(b, STATE_ENTRY, 0, X86_NONE, X86_NONE, X86_NONE);
	else if (hook_is_watched(b->pc))
		triggers_emit_check(b);
	else if (b->runs[0].function)
		return_sites_emit_check(b);
	emit_body(b);
	exits_emit_final(b);
	exits_emit_stubs(b);
	f = build_commit(b);
	if (f && recording()) {
		record_describe(b);
		if (unlikely(layout()->flags & ADEPT_S_KEEP_TRANSLATIONS))
			record_translation(b, f);
	}
	return f;
}

/*
 * Link the exit of an indirect call to its call stub.  This exit has no exit stub, so the call stub
 * must exist before a thread runs the fragment.
 */
static void link_indirect_call(struct frag *f)
{
	struct exit *x = frag_exits(f);

	for (u32 i = 0; i < f->nexits; i++)
		if (x[i].kind == ADEPT_X_INDIRECT && x[i].patch)
			exit_link(&x[i],
				  call_stub_indirect(frag_insn_pc(f, f->ninsns), !f->after));
}

static struct frag *build(u64 pc, u16 mask, struct arena *a, enum after after)
{
	static struct build build;
	struct build *b = &build;
	u32 limit = chaos_is(ADEPT_S_CHAOS_SHORT) ? 1 : MAX_INSNS;
	struct frag *f;

	if (!a)
		returns_prepare(pc);
	for (;;) {
		b->pc = pc;
		b->mask = mask;
		b->limit = limit;
		build_scan(b);
		/*
		 * Code whose changes cannot be noticed must not follow a landing stub: the
		 * dispatcher must compare it with the application's code at each entry.
		 */
		if (a && b->unwatchable)
			return NULL;
		record_plan(b);
		reserved_reg_plan(b);
		b->relevant = record_useful_regs(b);
		b->mask &= b->relevant;
		b->first_exit = recording() ? record_alloc_exit_ids(b->nexits) : 0;
		b->nrecorded = b->nexits;
		f = emit_fragment(b, a);
		if (f)
			break;
		/* Cannot happen: the tables of struct build have room for any one instruction. */
		if (limit == 1)
			fatal("cannot translate the instruction at %lx: a build table is full", pc);
		limit /= 2;
	}
	f->after = after;
	LOG_LOCKED(ADEPT_LOG_TRANSLATE, "fragment %u at %lx, known %x: %u instructions, %u exits, "
		   "hot %lx + %u, cold %lx + %u", f->first_exit, pc, f->mask, f->ninsns, f->nexits,
		   (u64)f->start, f->hot_len, (u64)f->cold, f->cold_len);
	proc_slot()->built++;
	frag_insert(f);
	link_indirect_call(f);
	return f;
}

struct frag *build_fragment(u64 pc, u16 mask)
{
	return build(pc, mask, NULL, AFTER_NOTHING);
}

struct frag *build_after(u64 pc, struct arena *a, enum after after)
{
	return build(pc, X86_BIT(X86_RSP), a, after);
}

struct build *build_stub(u64 pc, struct arena *a)
{
	static struct build bare;
	struct build *b = &bare;

	if (!a)
		returns_prepare(pc);
	b->pc = pc;
	b->mask = X86_BIT(X86_RSP);
	b->unwatchable = 0;
	b->first_exit = 0;
	b->relevant = 0;
	b->n = b->nexits = b->nstores = b->nruns = 0;
	build_begin(b, a);
	return b;
}
