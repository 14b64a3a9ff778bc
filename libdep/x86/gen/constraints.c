/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Find which register numbers, prefix bits and address forms make a valid encoding invalid, by
 * trying them with Zydis.
 */
#include "gen.h"

static int valid(const struct probe *p)
{
	struct insn in;

	return gen_decode(p, &in);
}

static int other(const struct probe *p)
{
	int v = 1;

	while (v == p->reg || v == p->rm || v == p->vvvv || v == p->index)
		v++;
	return v;
}

/* Add constraint @bit to cons if the encoding is invalid with @field set to @value. */
#define TRY(field, value, bit)						\
	do {								\
		struct probe t = *p;					\
									\
		t.field = (value);					\
		if (!valid(&t))						\
			cons |= (bit);					\
	} while (0)

unsigned int gen_constraints(const struct probe *p, const struct x86_row *row)
{
	unsigned int cons = 0;

	if (!p->mod && row->fields & X86_RF_MODRM && !(row->fields & X86_RF_FORCEREG)) {
		TRY(norm, 1, X86_C_NORIP);
		TRY(norm, 2, X86_C_SIB);
	}
	if (p->enc == X86_LEGACY)
		return cons;
	TRY(vvvv, other(p), X86_C_VV0);
	if (!(cons & X86_C_VV0))
		TRY(vvvv, p->vvvv + 8, X86_C_VV8);
	TRY(r, 1, X86_C_R);
	TRY(x, 1, X86_C_X);
	TRY(b, 1, X86_C_B);
	if (row->attr & (X86_A_GATHER | X86_A_SCATTER))
		TRY(index, p->reg, X86_C_NIX);
	if (!(cons & X86_C_VV0))
		TRY(vvvv, p->reg, X86_C_NRV);
	if (p->enc != X86_EVEX)
		return cons;
	TRY(vvvv, p->vvvv | 16, X86_C_V2);
	TRY(r2, 1, X86_C_R2);
	if (p->mod)
		TRY(rm, p->reg, X86_C_NRM);
	if (p->aaa)
		TRY(aaa, 0, X86_C_KN);
	else
		TRY(aaa, 1, X86_C_K0);
	if (!(cons & X86_C_K0)) {
		struct probe t = *p;

		t.z = t.aaa = 1;
		if (!valid(&t))
			cons |= X86_C_Z;
		t.aaa = 0;
		if (!(cons & (X86_C_Z | X86_C_KN)) && !valid(&t))
			cons |= X86_C_ZK;
	} else {
		TRY(z, 1, X86_C_Z);
	}
	return cons;
}
