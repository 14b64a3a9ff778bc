// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Emits the value stores: plain stores relative to r15.  They change no flag and contain no branch.
 */
#include "record.h"

/* Choose a register that instruction @in does not use; the caller spills it to TLS_SPILL0. */
static u8 scratch_for(const struct x86_insn *in)
{
	static const u8 choice[] = { X86_RAX, X86_RCX, X86_RDX, X86_RSI, X86_RDI, X86_RBX };

	for (unsigned int i = 0; i < sizeof(choice); i++)
		if (!((in->gpr_read | in->gpr_write) & X86_BIT(choice[i])))
			return choice[i];
	return X86_RBP;
}

static void store_reg(struct build *b, unsigned int n, u8 reg, s32 off, enum state_kind kind)
{
	struct adept_store *st = &b->stores[b->next_store];
	u8 s;

	if (b->held != X86_NONE)
		st->held = (u8)(b->held + 1);
	if (reg != X86_R15) {
		emit_state(b, kind, n, b->held, X86_NONE, X86_NONE);
		emit_rm64(&b->e, 0x89, reg, X86_R15, off);
		return;
	}
	/* The application's r15 is in the TLS block, and in register b->held if that is set. */
	if (b->held != X86_NONE) {
		emit_state(b, kind, n, b->held, X86_NONE, X86_NONE);
		emit_rm64(&b->e, 0x89, b->held, X86_R15, off);
		return;
	}
	s = scratch_for(&b->ins[n].in);
	st->held = (u8)(s + 1);
	emit_state(b, kind, n, X86_NONE, X86_NONE, X86_NONE);
	emit_store_gs(&b->e, s, TLS_SPILL0);
	emit_state(b, STATE_MANGLE, n, s, X86_NONE, X86_NONE);
	emit_load_gs(&b->e, s, TLS_R15);
	emit_rm64(&b->e, 0x89, s, X86_R15, off);
	emit_load_gs(&b->e, s, TLS_SPILL0);
}

/* Emit a ModRM byte and disp32 for the operand [r15 + @off]. */
static void emit_r15_operand(struct emit *e, u8 reg, s32 off)
{
	emit8(e, 0x87 | (reg & 7) << 3);
	emit32(e, (u32)off);
}

static void store_vector(struct build *b, unsigned int n, u8 arg, s32 off)
{
	struct emit *e = &b->e;
	u8 reg = arg & 31, size = arg >> 5;

	emit_state(b, STATE_STORE, n, X86_NONE, X86_NONE, X86_NONE);
	if (size == 2) {
		/* vmovdqu64 [r15 + off], zmm: EVEX.512.F3.0F.W1 7F; disp32 is not scaled */
		emit8(e, 0x62);
		emit8(e, 0x41 | (reg & 8 ? 0 : 0x80) | (reg & 16 ? 0 : 0x10));
		emit8(e, 0xfe);
		emit8(e, 0x48);
	} else {
		/* vmovdqu [r15 + off], ymm: VEX.256.F3.0F 7F */
		emit8(e, 0xc4);
		emit8(e, 0x41 | (reg & 8 ? 0 : 0x80));
		emit8(e, 0x7e);
	}
	emit8(e, 0x7f);
	emit_r15_operand(e, reg, off);
}

static void store_opmask(struct build *b, unsigned int n, u8 k, s32 off)
{
	struct emit *e = &b->e;

	/* kmovq [r15 + off], k: VEX.L0.0F.W1 91 */
	emit_state(b, STATE_STORE, n, X86_NONE, X86_NONE, X86_NONE);
	emit8(e, 0xc4);
	emit8(e, 0xc1);
	emit8(e, 0xf8);
	emit8(e, 0x91);
	emit_r15_operand(e, k, off);
}

static void store_fsbase(struct build *b, unsigned int n, s32 off)
{
	store_reg(b, n, b->ins[n].in.f_rm, off, STATE_STORE);
	if (b->ins[n].in.opsize == 4) {
		/* mov dword [r15 + off + 4], 0: a 32-bit operand is zero-extended */
		emit8(&b->e, 0x41);
		emit8(&b->e, 0xc7);
		emit_r15_operand(&b->e, 0, off + 4);
		emit32(&b->e, 0);
	}
}

/* Whether @in is cmpxchg, cmpxchg8b or cmpxchg16b, which set the zero flag if they exchanged. */
static int is_cmpxchg(const struct x86_insn *in)
{
	return in->enc == X86_LEGACY && in->map == 1 &&
	       ((in->opcode & 0xfe) == 0xb0 || in->opcode == 0xc7);
}

/* Emit mov [r15 + @off], @reg for eax or edx. */
static void emit_half(struct emit *e, u8 reg, s32 off)
{
	emit8(e, 0x41);
	emit8(e, 0x89);
	emit_r15_operand(e, reg, off);
}

/*
 * Store a timestamp, with rax and rdx spilled.  The upper half is stored first: if the chunk has no
 * room, this store faults, and it is repeated in the new chunk before the lower half is stored.
 * The state entries of kind STATE_FOLLOWING mark in arg3 that they belong to a timestamp.
 */
static void store_timestamp(struct build *b, unsigned int n, s32 off, enum state_kind kind)
{
	struct adept_store *st = &b->stores[b->next_store];
	u8 held = b->held, mark = kind == STATE_FOLLOWING ? STATE_TIMESTAMP : 0;
	u8 none = mark ? mark | STATE_NO_REG : X86_NONE;
	struct emit *e = &b->e;

	if (held != X86_NONE)
		st->held = (u8)(held + 1);
	emit_state(b, kind, n, held, X86_NONE, none);
	emit_store_gs(e, X86_RAX, TLS_SPILL1);
	emit_state(b, kind, n, held, X86_RAX, none);
	emit_store_gs(e, X86_RDX, TLS_SPILL2);
	emit_state(b, kind, n, held, X86_RAX, X86_RDX | mark);
	if (kind == STATE_FOLLOWING) {
		/* lfence */
		emit8(e, 0x0f);
		emit8(e, 0xae);
		emit8(e, 0xe8);
	}
	/* rdtsc */
	emit8(e, 0x0f);
	emit8(e, 0x31);
	if (kind == STATE_FOLLOWING && is_cmpxchg(&b->ins[n].in)) {
		/* bswap edx; setz dl; bswap edx */
		emit8(e, 0x0f);
		emit8(e, 0xca);
		emit8(e, 0x0f);
		emit8(e, 0x94);
		emit8(e, 0xc2);
		emit8(e, 0x0f);
		emit8(e, 0xca);
	}
	emit_half(e, X86_RDX, off + 4);
	emit_half(e, X86_RAX, off);
	emit_load_gs(e, X86_RAX, TLS_SPILL1);
	emit_load_gs(e, X86_RDX, TLS_SPILL2);
}

static int is_after(u8 kind)
{
	return kind == ADEPT_ST_POST || kind == ADEPT_ST_EXIT_REG || kind == ADEPT_ST_AFTER;
}

void record_emit_before(struct build *b, unsigned int n)
{
	for (; b->next_store < b->nstores; b->next_store++) {
		const struct adept_store *s = &b->stores[b->next_store];
		s32 off = b->store_off[b->next_store];

		if (s->insn != n || is_after(s->kind))
			return;
		switch (s->kind) {
		case ADEPT_ST_VEC:
			store_vector(b, n, s->arg, off);
			break;
		case ADEPT_ST_KREG:
			store_opmask(b, n, s->arg, off);
			break;
		case ADEPT_ST_FSBASE:
			store_fsbase(b, n, off);
			break;
		case ADEPT_ST_BEFORE:
			store_timestamp(b, n, off, STATE_MANGLE);
			break;
		default:
			store_reg(b, n, s->arg, off, STATE_STORE);
		}
	}
}

void record_emit_after(struct build *b, unsigned int n)
{
	for (; b->next_store < b->nstores; b->next_store++) {
		const struct adept_store *s = &b->stores[b->next_store];

		if (s->insn != n || !is_after(s->kind))
			return;
		if (s->kind == ADEPT_ST_AFTER)
			store_timestamp(b, n, b->store_off[b->next_store], STATE_FOLLOWING);
		else
			store_reg(b, n, s->arg, b->store_off[b->next_store], STATE_FOLLOWING);
	}
}

/* ADEPT_XT_* flags of an exit whose id is stored in state @before. */
static u8 state_at_id(enum state_kind before)
{
	switch (before) {
	case STATE_CALL:
		return ADEPT_XT_BEFORE | ADEPT_XT_PUSHED;
	case STATE_IND:
		return ADEPT_XT_BEFORE | ADEPT_XT_RCX | ADEPT_XT_RDX;
	case STATE_IND_CALL:
		return ADEPT_XT_BEFORE | ADEPT_XT_PUSHED | ADEPT_XT_RCX | ADEPT_XT_RDX;
	case STATE_RET_IND:
		return ADEPT_XT_BEFORE | ADEPT_XT_RCX;
	default:
		return 0;
	}
}

void record_emit_tag(struct build *b, unsigned int x, enum state_kind before)
{
	struct build_exit *bx = &b->exits[x];
	struct emit *e = &b->e;
	u8 n = (u8)(before == STATE_EXIT ? bx->ninsns : bx->insn);

	bx->at_id = state_at_id(before);
	emit_state(b, before, n, (u8)x, X86_NONE, X86_NONE);
	if (!recording())
		return;
	/* mov dword [r15], id */
	emit8(e, 0x41);
	emit8(e, 0xc7);
	emit8(e, 0x07);
	emit32(e, b->first_exit + x);
	emit_state(b, before + 1, n, (u8)x, X86_NONE, X86_NONE);
	emit_rm64(e, 0x8d, X86_R15, X86_R15, bx->reclen);
}
