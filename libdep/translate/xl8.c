// SPDX-License-Identifier: LGPL-2.1-or-later
#include "xl8.h"

int xl8_lookup(u64 addr, struct xl8_pos *pos)
{
	struct arena *a = arena_of(addr);
	struct frag *f = a ? arena_frag(a, addr) : NULL;
	u32 off, i;
	const struct xl8 *x;

	if (!f)
		return 0;
	off = (u32)(addr - (u64)f->start);
	if (off >= f->hot_len)
		off = (u32)(addr - (u64)f->cold) + COLD_OFFSET;
	for (i = 0; i < f->nxl8 && f->xl8[i].off <= off; i++)
		;
	if (!i)
		return 0;
	x = &f->xl8[i - 1];
	pos->frag = f;
	pos->kind = x->kind;
	pos->insn = x->insn;
	pos->nst = x->nst;
	pos->arg = x->arg;
	pos->arg2 = x->arg2;
	pos->arg3 = x->arg3;
	if (x->kind == XL8_RUN) {
		u32 at = x->off;
		struct x86_insn in;

		while (at < off) {
			int len = x86_decode(&in, frag_code(f, (u16)at), 16);

			if (len <= 0)
				return 0;
			at += (u32)len;
			if (at <= off)
				pos->insn++;
		}
	}
	return 1;
}

u64 frag_insn_pc(struct frag *f, unsigned int n)
{
	const u8 *len = frag_lens(f);
	u64 pc = f->pc;

	for (unsigned int r = 0; r < f->nruns; r++) {
		pc = f->runs[r].pc;
		for (unsigned int i = 0; i < f->runs[r].ninsns; i++) {
			if (!n)
				return pc;
			pc += *len++;
			n--;
		}
	}
	return pc;
}
