// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Exits of a fragment: emits branches, the code that ends a record, and exit stubs, which enter the
 * dispatcher as long as an exit is not linked.
 */
#include "translate.h"
#include "libdep/engine/record/record.h"
#include "libdep/engine/hooks/hooks.h"

u8 *exits_emit_linkable(struct build *b, u8 opcode)
{
	emit_align_field(&b->e, 1);
	emit8(&b->e, opcode);
	emit32(&b->e, 0);
	return b->e.p - 4;
}

static void push_return_address(struct build *b, u64 ret)
{
	if (ret == (u64)(s64)(s32)ret) {
		emit8(&b->e, 0x68);
		emit32(&b->e, (u32)ret);
		return;
	}
	/* Push by one 8-byte store: after two 4-byte stores, the load by the return would stall. */
	emit8(&b->e, 0xff);
	emit8(&b->e, 0x35);
	emit32(&b->e, 0);
	build_literal(b, ret);
}

static void emit_direct(struct build *b, u32 i)
{
	struct build_exit *x = &b->exits[i];

	if (x->call == CALL_BY_STUB) {
		emit_state(b, STATE_STORE, x->insn, X86_NONE, X86_NONE, X86_NONE);
		push_return_address(b, b->ins[x->insn].pc + b->ins[x->insn].in.len);
		record_emit_tag(b, i, STATE_CALL);
		if (layout()->flags & ADEPT_S_STRICT)
			x->call = CALL_NONE;
	} else {
		record_emit_tag(b, i, STATE_EXIT);
	}
	emit_state(b, STATE_EXIT_DONE, x->ninsns, (u8)i, X86_NONE, X86_NONE);
	x->patch = exits_emit_linkable(b, 0xe9);
}

static void emit_indirect(struct build *b, u32 i)
{
	struct build_exit *x = &b->exits[i];
	const struct build_insn *bi = &b->ins[x->insn];

	if (bi->in.kind == X86_RET && !bi->in.imm_len && !(layout()->flags & ADEPT_S_STRICT)) {
		returns_emit(b, i);
		return;
	}
	emit_state(b, STATE_STORE, x->insn, X86_NONE, X86_NONE, X86_NONE);
	emit_store_gs(&b->e, X86_RCX, TLS_IND0);
	emit_store_gs(&b->e, X86_RDX, TLS_IND1);
	emit_state(b, STATE_IND, x->insn, (u8)i, X86_NONE, X86_NONE);
	mangle_load_target(b, x->insn);
	if (bi->in.kind == X86_CALL_IND) {
		push_return_address(b, bi->pc + bi->in.len);
		record_emit_tag(b, i, STATE_IND_CALL);
	} else {
		record_emit_tag(b, i, STATE_IND);
	}
	if (bi->in.kind == X86_RET) {
		returns_emit_by_jump(b, i);
		return;
	}
	emit_state(b, STATE_AT_RCX, x->insn, (u8)i, X86_NONE, X86_NONE);
	if (bi->in.kind == X86_CALL_IND && !(layout()->flags & ADEPT_S_STRICT))
		x->patch = exits_emit_linkable(b, 0xe9);
	else
		lookup_jump(&b->e);
}

static void emit_gate(struct build *b, enum gate g)
{
	emit_branch(&b->e, 0xe9, arena_gate(b->arena, g));
}

void exits_emit_thunk(struct build *b, u32 i, const struct exit *x)
{
	struct build_exit *bx = &b->exits[i];

	if (!bx->patch || bx->kind == ADEPT_X_INDIRECT)
		return;
	bx->thunk = b->e.p;
	if (bx->kind == X_SITE)
		return_sites_emit_miss(b);
	if (bx->call == CALL_NATIVE) {
		emit_state(b, STATE_CALLED, bx->insn, (u8)i, X86_NONE, X86_NONE);
		emit_lea_rsp(&b->e, 8);
	}
	emit_state(b, STATE_EXIT_DONE, bx->ninsns, (u8)i, X86_NONE, X86_NONE);
	emit_store_gs_imm(&b->e, TLS_EXIT, heap_ref(x));
	emit_gate(b, bx->kind == ADEPT_X_SYSCALL ? GATE_SYSCALL :
		  bx->kind == ADEPT_X_TRAP ? GATE_TRAP : GATE_EXIT);
	if (!b->e.overflow)
		put_rel32(bx->patch, bx->thunk);
}

void exits_emit_branch(struct build *b, unsigned int n, struct build_exit *x)
{
	const struct build_insn *bi = &b->ins[n];
	struct emit *e = &b->e;

	emit_state(b, STATE_STORE, n, X86_NONE, X86_NONE, X86_NONE);
	if (bi->in.kind == X86_JCC) {
		emit_align_field(e, 2);
		emit8(e, 0x0f);
		emit8(e, 0x80 | (bi->in.opcode & 15));
		emit32(e, 0);
		x->jcc = e->p - 4;
		return;
	}
	/* loop and jrcxz have only an 8-bit displacement: let them jump over a jump */
	if (bi->in.attr & X86_A_ADDR32)
		emit8(e, 0x67);
	emit8(e, bi->in.opcode);
	emit8(e, 2);
	emit_state(b, STATE_STORE, n + 1, X86_NONE, X86_NONE, X86_NONE);
	emit8(e, 0xeb);
	emit8(e, 0);
	emit_state(b, STATE_EXIT, n + 1, (u8)(x - b->exits), X86_NONE, X86_NONE);
	u8 *skip = e->p;

	emit_align_field(e, 1);
	emit8(e, 0xe9);
	emit32(e, 0);
	x->jcc = e->p - 4;
	if (!e->overflow)
		skip[-1] = (u8)(e->p - skip);
}

void exits_emit_final(struct build *b)
{
	for (u32 i = 0; i < b->nrecorded; i++) {
		struct build_exit *x = &b->exits[i];

		if (x->jcc)
			continue;
		if (x->kind == ADEPT_X_INDIRECT) {
			emit_indirect(b, i);
		} else if (x->kind == ADEPT_X_DIRECT) {
			emit_direct(b, i);
		} else {
			record_emit_tag(b, i, STATE_EXIT);
			emit_state(b, STATE_EXIT_DONE, x->ninsns, (u8)i, X86_NONE, X86_NONE);
			x->patch = exits_emit_linkable(b, 0xe9);
		}
	}
}

void exits_emit_stubs(struct build *b)
{
	for (u32 i = 0; i < b->nexits; i++) {
		struct build_exit *x = &b->exits[i];

		if (!x->jcc)
			continue;
		if (!recording()) {
			x->patch = x->jcc;
			continue;
		}
		if (!b->e.overflow)
			put_rel32(x->jcc, b->e.p);
		record_emit_tag(b, i, STATE_EXIT);
		emit_state(b, STATE_EXIT_DONE, x->ninsns, (u8)i, X86_NONE, X86_NONE);
		x->patch = exits_emit_linkable(b, 0xe9);
	}
}
