// SPDX-License-Identifier: LGPL-2.1-or-later
#include "code_cache.h"
#include "state_table.h"

/*
 * Format of a packed entry: the kind with the flags below; the distance of off from the previous
 * entry (255: off itself follows); and the fields that the flags name.
 */
/* the entry has insn and nst; otherwise they are the previous entry's */
#define WITH_POS	0x20
#define WITH_ARG	0x40	/* the entry has arg; otherwise it is X86_NONE */
#define WITH_ARGS	0x80	/* the entry has arg2 and arg3; otherwise they are X86_NONE */

_Static_assert(STATE_DATA < WITH_POS, "enum state_kind overlaps the flag bits");

u32 state_pack(u8 *out, const struct state_entry *v, u32 n)
{
	struct state_entry last = { 0 };
	u8 *at = out;

	for (; n; n--, v++) {
		u8 *kind = at++;
		u32 step = (u32)v->off - last.off;

		*kind = v->kind;
		*at++ = (u8)(step < 255 ? step : 255);
		if (step >= 255) {
			memcpy(at, &v->off, 2);
			at += 2;
		}
		if (v->insn != last.insn || v->nst != last.nst) {
			*kind |= WITH_POS;
			*at++ = v->insn;
			*at++ = v->nst;
		}
		if (v->arg != X86_NONE) {
			*kind |= WITH_ARG;
			*at++ = v->arg;
		}
		if (v->arg2 != X86_NONE || v->arg3 != X86_NONE) {
			*kind |= WITH_ARGS;
			*at++ = v->arg2;
			*at++ = v->arg3;
		}
		last = *v;
	}
	return (u32)(at - out);
}

/*
 * Unpack the entry at @at to @x, which has the previous entry.  Return: address of the next entry.
 */
static const u8 *unpack(struct state_entry *x, const u8 *at)
{
	u8 kind = *at++, step = *at++;

	x->kind = kind & (WITH_POS - 1);
	x->off = (u16)(x->off + step);
	if (step == 255) {
		memcpy(&x->off, at, 2);
		at += 2;
	}
	if (kind & WITH_POS) {
		x->insn = *at++;
		x->nst = *at++;
	}
	x->arg = kind & WITH_ARG ? *at++ : X86_NONE;
	x->arg2 = x->arg3 = X86_NONE;
	if (kind & WITH_ARGS) {
		x->arg2 = *at++;
		x->arg3 = *at++;
	}
	return at;
}

/* Find the last entry of @f at or before offset @off.  Return: 0 if there is none. */
static int find(struct frag *f, u32 off, struct state_entry *found)
{
	const u8 *at = frag_states(f), *end = at + f->states_len;
	struct state_entry x = { 0 };
	int any = 0;

	while (at < end) {
		at = unpack(&x, at);
		if (x.off > off)
			break;
		*found = x;
		any = 1;
	}
	return any;
}

int state_lookup(u64 addr, struct state_pos *pos)
{
	struct arena *a = arena_of(addr);
	struct frag *f = a ? arena_frag(a, addr) : NULL;
	struct state_entry x;
	u32 off;

	if (!f)
		return 0;
	off = (u32)(addr - (u64)f->start);
	if (off >= f->hot_len)
		off = (u32)(addr - (u64)f->cold) + COLD_OFFSET;
	if (!find(f, off, &x))
		return 0;
	pos->frag = f;
	pos->kind = x.kind;
	pos->insn = x.insn;
	pos->nst = x.nst;
	pos->arg = x.arg;
	pos->arg2 = x.arg2;
	pos->arg3 = x.arg3;
	if (x.kind == STATE_RUN) {
		u32 at = x.off;
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
