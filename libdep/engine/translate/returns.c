// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Returns.
 *
 * A return is executed by a native ret, so that the processor's return predictor works.  Before the
 * ret, the application's return address on the stack is looked up and replaced by the address of
 * the landing stub after the native call (call_stub.c).  All returns of an arena share the code
 * that does this: it takes less cache memory, and the prediction does not depend on the address of
 * the ret.
 */
#include "translate.h"
#include "libdep/engine/record/record.h"

/*
 * Emit the shared return path.  On entry, rcx has the return address, and TLS_IND0 the
 * application's rcx.
 */
static void emit_path(struct build *b)
{
	static const u8 swap[] = { 0x48, 0x89, 0x14, 0x24 };	/* mov [rsp], rdx */

	emit_state(b, STATE_RET_RCX, 0, X86_NONE, X86_NONE, X86_NONE);
	emit_store_gs(&b->e, X86_RDX, TLS_IND1);
	emit_state(b, STATE_RET, 0, X86_NONE, 0, 0);
	lookup_return(&b->e);
	emit_bytes(&b->e, swap, sizeof(swap));
	emit_state(b, STATE_RET_SWAPPED, 0, X86_NONE, 0, 0);
	emit8(&b->e, 0xc3);
}

void returns_prepare(u64 pc)
{
	struct arena *a = arena_for(pc);
	struct build *b;
	struct frag *f;

	if (*arena_ret_path(a))
		return;
	b = build_stub(0, a);
	emit_path(b);
	f = build_commit(b);
	*arena_ret_path(a) = frag_entry(f);
}

void returns_emit(struct build *b, u32 i)
{
	struct emit_operand top = { .base = X86_RSP, .index = X86_NONE };
	struct build_exit *x = &b->exits[i];

	emit_state(b, STATE_STORE, x->insn, X86_NONE, X86_NONE, X86_NONE);
	emit_store_gs(&b->e, X86_RCX, TLS_IND0);
	emit_op_mem(&b->e, 0x8b, X86_RCX, &top);
	record_emit_tag(b, i, STATE_RET_IND);
	emit_state(b, STATE_RET_RCX, x->insn, X86_NONE, X86_NONE, X86_NONE);
	emit_branch(&b->e, 0xe9, *arena_ret_path(b->arena));
}

void returns_emit_by_jump(struct build *b, u32 i)
{
	const struct build_exit *x = &b->exits[i];
	const struct x86_insn *in = &b->ins[x->insn].in;
	u16 more = (u16)(in->imm_len ? in->imm : 0);
	struct emit_operand above = {
		.base = X86_RSP, .index = X86_NONE, .disp = 8 + more,
	};

	emit_state(b, STATE_RET, x->insn, X86_NONE, (u8)more, (u8)(more >> 8));
	emit_op_mem(&b->e, 0x8d, X86_RSP, &above);
	emit_state(b, STATE_AT_RCX, x->insn, X86_NONE, X86_NONE, X86_NONE);
	lookup_jump(&b->e);
}
