// SPDX-License-Identifier: LGPL-2.1-or-later
#include "liveness.h"

static int goes_on(const struct x86_insn *in)
{
	return in->kind == X86_NORMAL || in->kind == X86_STRING;
}

/* Whether @in is xor or sub of a register with itself, so the register's old value is not used. */
static int is_zero_idiom(const struct x86_insn *in)
{
	unsigned int op = in->opcode & ~2u;

	return in->enc == X86_LEGACY && in->map == 0 && (op == 0x31 || op == 0x29) &&
	       in->f_rm == in->f_reg && in->opsize >= 4;
}

/*
 * Whether @in is a shift whose immediate count the processor masks to 0: it does not change flags.
 */
static int is_null_shift(const struct x86_insn *in)
{
	if (in->enc != X86_LEGACY || in->imm & (in->opsize == 8 ? 63 : 31))
		return 0;
	if (in->map == 0)
		return in->opcode == 0xc0 || in->opcode == 0xc1;
	return in->map == 1 && (in->opcode == 0xa4 || in->opcode == 0xac);
}

u16 x86_dead_gprs(const struct x86_insn *in, unsigned int n)
{
	u16 read = 0, dead = 0;

	for (; n && goes_on(in); n--, in++) {
		read |= is_zero_idiom(in) ? 0 : in->gpr_read;
		dead |= in->gpr_full & ~read;
	}
	return dead;
}

u16 x86_dead_flags(const struct x86_insn *in, unsigned int n)
{
	u16 read = 0, dead = 0;

	for (; n && goes_on(in); n--, in++) {
		read |= in->flags_read;
		if (!is_null_shift(in))
			dead |= in->flags_kill & ~read;
	}
	return dead & X86_ARITH_FLAGS;
}
