// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The application's r15.  Its value is kept in a slot of the TLS block, since the register itself
 * is the record pointer.
 *
 * If r15 is a plain operand, the instruction can use the memory slot instead.  Otherwise a scratch
 * register holds r15's value.  It is spilled before the first such instruction, and keeps the value
 * for as many instructions as do not use the scratch register, because r15 is rarely used only
 * once.  The slot is always up to date.
 */
#include "translate.h"
#include "libdep/engine/record/record.h"

int r15_named(const struct x86_insn *in)
{
	return in->f_reg == X86_R15 || in->f_rm == X86_R15 || in->f_opc == X86_R15 ||
	       in->f_vvvv == X86_R15 || in->base == X86_R15 ||
	       (in->index == X86_R15 && !(in->attr & (X86_A_GATHER | X86_A_SCATTER)));
}

/* ---- the memory slot of r15 as an operand ---- */

/*
 * rol and ror by a constant.  If the constant is not 1, the overflow flag is undefined, and some
 * processors set it differently for a memory operand than for a register.
 */
static int is_rotate(const struct x86_insn *in)
{
	return in->opcode == 0xc1 && (in->modrm & 0x38) < 0x10;
}

/*
 * Whether the rm operand, which is r15, can be replaced by its memory slot: the instruction has the
 * same effect, and no upper half must be cleared.
 */
static int rm_can_be_slot(const struct x86_insn *in)
{
	u8 op = in->opcode;
	int writes = 1;

	if (in->enc != X86_LEGACY || in->f_rm != X86_R15 || in->f_reg == X86_R15 ||
	    in->modrm < 0xc0 || in->attr & X86_A_HIGH8)
		return 0;
	if (in->map == 0) {
		if (op < 0x40 && (op & 7) < 4)
			writes = !(op & 2) && (op & 0x38) != 0x38;
		else if (op == 0x81 || op == 0x83)
			writes = (in->modrm & 0x38) != 0x38;
		else if (op == 0x85 || op == 0x8b || op == 0x63 || op == 0x69 || op == 0x6b)
			writes = 0;
		else if (is_rotate(in))
			return 0;
		else if (op != 0x89 && op != 0xc1 && op != 0xd1 && op != 0xd3 && op != 0xc7)
			return 0;
	} else if (in->map == 1) {
		if (op != 0xaf && (op & 0xf0) != 0x40 && op != 0xb6 && op != 0xb7 && op != 0xbe &&
		    op != 0xbf)
			return 0;
		writes = 0;
	} else {
		return 0;
	}
	return !writes || in->opsize == 8;
}

/*
 * Whether @prefix must be removed when a register operand becomes memory.  A segment prefix has no
 * effect on a register operand but would change the address of the slot, and with all unused
 * prefixes the instruction could become longer than 15 bytes.
 */
static int is_idle(const struct x86_insn *in, u8 prefix, int *have66)
{
	if (prefix == 0x66)
		return in->rex & 8 || (*have66)++;
	return (prefix & 0xe7) == 0x26 || prefix == 0x64 || prefix == 0x65 ||
	       prefix == 0x67 || prefix == 0xf2 || prefix == 0xf3 || (prefix & 0xf0) == 0x40;
}

static void emit_slot_form(struct build *b, const struct build_insn *bi, u8 opcode, u8 reg)
{
	const struct x86_insn *in = &bi->in;
	struct emit *e = &b->e;
	int have66 = 0;

	emit8(e, 0x65);
	for (unsigned int i = 0; i < in->off_modrm; i++) {
		u8 v = bi->raw[i];

		if (in->rex && i == in->off_opcode - 1u - in->map)
			v = (u8)((v & ~7) | (reg >> 3) << 2);
		else if (i + in->map < in->off_opcode && is_idle(in, v, &have66))
			continue;
		else if (i == in->off_opcode)
			v = opcode;
		emit8(e, v);
	}
	emit8(e, (u8)(0x04 | (reg & 7) << 3));
	emit8(e, 0x25);
	emit32(e, TLS_R15);
	emit_bytes(e, bi->raw + in->len - in->imm_len, in->imm_len);
}

static void emit_push_pop_slot(struct build *b, int pop)
{
	struct emit *e = &b->e;

	emit8(e, 0x65);
	emit8(e, pop ? 0x8f : 0xff);
	emit8(e, pop ? 0x04 : 0x34);
	emit8(e, 0x25);
	emit32(e, TLS_R15);
}

/* Emit an instruction with opcode 83 and opcode extension @ext: op [slot], 0. */
static void emit_slot_zero(struct build *b, u8 ext, int wide)
{
	struct emit *e = &b->e;

	emit8(e, 0x65);
	if (wide)
		emit8(e, 0x48);
	emit8(e, 0x83);
	emit8(e, (u8)(0x04 | ext << 3));
	emit8(e, 0x25);
	emit32(e, TLS_R15);
	emit8(e, 0);
}

enum slot_form {
	SLOT_NONE,
	SLOT_PUSH_POP,
	SLOT_RM,	/* the slot replaces the rm operand */
	SLOT_REVERSED,	/* the slot becomes the rm operand, and the other operand the reg operand */
	SLOT_TEST,	/* test r15, r15 becomes cmp [slot], 0 */
	SLOT_CLEAR,	/* xor r15, r15 becomes and [slot], 0 */
};

/* Get the opcode for the operands in the reverse order; 0 if there is none. */
static u8 reversed(const struct x86_insn *in)
{
	u8 op = in->opcode;

	if (op == 0x85 || op == 0x39 || op == 0x3b)
		return op == 0x85 ? op : op ^ 2;
	if (op != 0x89 && op != 0x8b && (op >= 0x40 || ((op & 7) != 1 && (op & 7) != 3)))
		return 0;
	/* A 32-bit operation on r15 would also have to clear the slot's upper half. */
	return op & 2 && in->opsize != 8 ? 0 : op ^ 2;
}

static enum slot_form slot_form(const struct x86_insn *in)
{
	if (in->enc != X86_LEGACY)
		return SLOT_NONE;
	if (in->map == 0 && in->f_opc == X86_R15 && in->opsize == 8 && (in->opcode & 0xf0) == 0x50)
		return SLOT_PUSH_POP;
	if (rm_can_be_slot(in))
		return SLOT_RM;
	if (in->map || in->f_reg != X86_R15 || in->modrm < 0xc0 || in->opsize < 4)
		return SLOT_NONE;
	if (in->f_rm != X86_R15)
		return reversed(in) ? SLOT_REVERSED : SLOT_NONE;
	if (in->opcode == 0x85)
		return SLOT_TEST;
	return in->opcode == 0x31 || in->opcode == 0x33 ? SLOT_CLEAR : SLOT_NONE;
}

void r15_emit_slot_form(struct build *b, unsigned int n)
{
	const struct build_insn *bi = &b->ins[n];
	const struct x86_insn *in = &bi->in;

	emit_state(b, STATE_RUN, n, X86_NONE, X86_NONE, X86_NONE);
	switch (slot_form(in)) {
	case SLOT_PUSH_POP:
		emit_push_pop_slot(b, in->opcode & 8);
		break;
	case SLOT_RM:
		emit_slot_form(b, bi, in->opcode,
			       (u8)(((in->modrm >> 3) & 7) | (in->rex & 4) << 1));
		break;
	case SLOT_REVERSED:
		emit_slot_form(b, bi, reversed(in), in->f_rm);
		break;
	case SLOT_TEST:
		emit_slot_zero(b, 7, in->opsize == 8);
		break;
	case SLOT_CLEAR:
		emit_slot_zero(b, 4, 1);
		break;
	case SLOT_NONE:
		fatal("opcode %x cannot use the memory slot of r15 as operand", in->opcode);
	}
}

/* ---- r15 in a scratch register ---- */

/*
 * Scratch registers that can replace r15: r8 to r14, so that only the low three bits of a field
 * change; not r12 and r13, which as base need another encoding of the operand.
 */
static const u8 scratch[] = { X86_R11, X86_R10, X86_R9, X86_R8, X86_R14 };

/*
 * Whether a scratch register can hold r15 during instruction @n: this must be an instruction that
 * mangle_with_scratch() handles, and no branch.
 */
static int can_be_held(const struct build *b, unsigned int n)
{
	const struct build_insn *bi = &b->ins[n];

	return bi->in.kind == X86_NORMAL && !mangle_implicit_gs(&bi->in) &&
	       !(bi->in.attr & X86_A_RDGSBASE);
}

static int needs_register(const struct build *b, unsigned int n)
{
	const struct x86_insn *in = &b->ins[n].in;

	return can_be_held(b, n) && r15_named(in) && (mangle_gs(&b->ins[n]) || !slot_form(in));
}

/* Count the instructions from @n on that would use @reg for r15; *@last is the last of them. */
static unsigned int uses(const struct build *b, unsigned int n, u8 reg, unsigned int *last)
{
	unsigned int count = 0;

	for (; n < b->n && can_be_held(b, n); n++) {
		const struct x86_insn *in = &b->ins[n].in;

		if ((in->gpr_read | in->gpr_write) & X86_BIT(reg))
			break;
		if (needs_register(b, n)) {
			*last = n;
			count++;
		}
	}
	return count;
}

void reserved_reg_plan(struct build *b)
{
	memset(b->hold, X86_NONE, b->n + 1);
	for (unsigned int n = 0; n < b->n; n++) {
		unsigned int most = 0, end = n;
		u8 reg = X86_NONE;

		if (!needs_register(b, n))
			continue;
		for (unsigned int i = 0; i < sizeof(scratch); i++) {
			unsigned int last = n, count = uses(b, n, scratch[i], &last);

			if (count > most) {
				most = count;
				end = last;
				reg = scratch[i];
			}
		}
		/* Cannot happen: no instruction uses all registers of scratch[]. */
		if (reg == X86_NONE)
			fatal("no free scratch register for an instruction with opcode %x",
			      b->ins[n].in.opcode);
		memset(b->hold + n, reg, end - n + 1);
		n = end;
	}
}

void reserved_reg_load(struct build *b, unsigned int n)
{
	const struct x86_insn *in = &b->ins[n].in;
	u8 reg = b->hold[n];

	if (reg == b->held)
		return;
	emit_state(b, STATE_STORE, n, X86_NONE, X86_NONE, X86_NONE);
	emit_store_gs(&b->e, reg, TLS_SPILL0);
	b->held = reg;
	emit_state(b, STATE_STORE, n, X86_NONE, X86_NONE, X86_NONE);
	if (in->gpr_read & X86_BIT(X86_R15) || !(in->gpr_full & X86_BIT(X86_R15)))
		emit_load_gs(&b->e, reg, TLS_R15);
}

void reserved_reg_spill(struct build *b, unsigned int n)
{
	u8 reg = b->held;

	if (reg == X86_NONE || reg == b->hold[n + 1])
		return;
	b->held = X86_NONE;
	emit_state(b, STATE_DONE, n, reg, X86_NONE, X86_NONE);
	emit_load_gs(&b->e, reg, TLS_SPILL0);
}
