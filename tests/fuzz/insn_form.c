// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bytes of one instruction, encoding by encoding: every prefix, opcode and
 * operand form, with r15, rsp and high registers more often than by chance.
 */
#include <string.h>

#include "insn_gen.h"

enum { LEGACY, VEX, EVEX };

struct form {
	int enc;
	uint8_t prefix[6], nprefix;
	uint8_t map, opcode, w, vl, pp, vvvv, k, z, bcast, v5, r5;
	uint8_t reg, rm, base, index, rex;
	uint8_t tail[7], ntail;		/* ModRM, SIB, displacement */
};

static uint8_t a_register(struct gen *g)
{
	if (percent(g, 20))
		return 15;
	if (percent(g, 5))
		return 4;
	return (uint8_t)below(g, 16);
}

static uint8_t from_set(struct gen *g, uint16_t set)
{
	uint32_t n = (uint32_t)__builtin_popcount(set), i;

	if (!n || percent(g, 4))
		return (uint8_t)below(g, 16);
	if (set & BIT(15) && percent(g, 25))
		return 15;
	if (set & BIT(4) && percent(g, 10))
		return 4;
	i = below(g, n);
	while (i--)
		set &= (uint16_t)(set - 1);
	return (uint8_t)__builtin_ctz(set);
}

static void displacement(struct gen *g, struct form *f, int mod)
{
	int32_t d = ((int32_t)below(g, 17) - 8) * 8;

	if (percent(g, 25))
		d = (int32_t)below(g, 256) - 128;
	/* No further: above it the engine has tables below 2 GiB. */
	if (mod == 2 && percent(g, 3))
		d = (int32_t)below(g, 0x1e000000) - 0xf000000;
	memcpy(f->tail + f->ntail, &d, 4);
	f->ntail = (uint8_t)(f->ntail + (mod == 1 ? 1 : 4));
}

static void form_memory(struct gen *g, struct form *f)
{
	uint16_t pointers = f->prefix[0] == 0x67 ? g->low : g->pointer;
	uint32_t kind = below(g, 100), mod = below(g, 3);
	uint8_t *t = f->tail;
	int32_t d;

	t[0] = (uint8_t)((f->reg & 7) << 3);
	f->base = f->index = 0;
	if (kind < 14) {			/* rip */
		t[0] |= 5;
		f->ntail = 5;
		return;
	}
	f->base = from_set(g, pointers);
	f->index = 4;
	t[1] = (uint8_t)(below(g, 4) << 6);
	if (kind < 24) {			/* absolute, perhaps with an index */
		if (kind < 18)
			f->index = from_set(g, pointers);
		t[0] |= 4;
		t[1] |= (uint8_t)((f->index & 7) << 3 | 5);
		f->base = 0;
		if (kind < 18)
			t[1] &= 0x3f;
		f->ntail = 2;
		if (kind < 18) {
			displacement(g, f, 2);
			return;
		}
		d = (int32_t)in_window(g, WIN_LOW);
		memcpy(t + 2, &d, 4);
		f->ntail = 6;
		return;
	}
	if (!mod && (f->base & 7) == 5)
		mod = 1;
	t[0] |= (uint8_t)(mod << 6);
	if (kind < 55 || (f->base & 7) == 4) {
		if (kind < 55)
			f->index = f->enc != LEGACY && percent(g, 50) ?
				(uint8_t)(4 + below(g, 4)) : from_set(g, g->small);
		t[0] |= 4;
		t[1] |= (uint8_t)((f->index & 7) << 3 | (f->base & 7));
		f->ntail = 2;
	} else {
		t[0] |= f->base & 7;
		f->ntail = 1;
	}
	if (mod)
		displacement(g, f, (int)mod);
}

static void form_legacy_opcode(struct gen *g, struct form *f)
{
	uint32_t k = below(g, 100);

	f->map = k < 55 ? 0 : k < 88 ? 1 : k < 95 ? 2 : 3;
	f->opcode = (uint8_t)below(g, 256);
	if (f->map == 0 && percent(g, 7))
		f->opcode = (uint8_t)(0xa4 + below(g, 12));	/* strings, test */
	else if (f->map == 0 && percent(g, 7))
		f->opcode = (uint8_t)(0x50 + below(g, 16));
	else if (f->map == 1 && percent(g, 8))
		f->opcode = (uint8_t)(0xb0 + below(g, 24));	/* cmpxchg, bits, xadd */
}

static void form_prefixes(struct gen *g, struct form *f)
{
	/* [0] keeps the address size for form_memory() */
	static const uint8_t segs[] = { 0x65, 0x65, 0x65, 0x65, 0x64, 0x64, 0x2e, 0x3e };
	int string = f->enc == LEGACY && f->map == 0 && (f->opcode & 0xf4) == 0xa4;

	if (percent(g, 6))
		f->prefix[f->nprefix++] = 0x67;
	if (percent(g, 14))
		f->prefix[f->nprefix++] = segs[below(g, 8)];
	if (f->enc != LEGACY)
		return;
	if (percent(g, 18))
		f->prefix[f->nprefix++] = 0x66;
	if (percent(g, string ? 70 : f->map ? 28 : 4))
		f->prefix[f->nprefix++] = (uint8_t)(0xf2 + below(g, 2));
	if (percent(g, 3))
		f->prefix[f->nprefix++] = 0xf0;
	/* In another order, or with a duplicate. */
	if (f->nprefix > 1 && f->prefix[0] != 0x67 && percent(g, 30)) {
		uint8_t t = f->prefix[0];

		f->prefix[0] = f->prefix[f->nprefix - 1];
		f->prefix[f->nprefix - 1] = t;
	}
	if (f->nprefix && percent(g, 3)) {
		f->prefix[f->nprefix] = f->prefix[below(g, f->nprefix)];
		f->nprefix++;
	}
}

static void form_vector_opcode(struct gen *g, struct form *f)
{
	f->map = (uint8_t)(1 + below(g, 3));
	f->opcode = (uint8_t)below(g, 256);
	f->w = (uint8_t)below(g, 2);
	f->vl = (uint8_t)below(g, f->enc == EVEX ? 3 : 2);
	f->pp = (uint8_t)below(g, 4);
	f->vvvv = percent(g, 45) ? 0 : a_register(g);
	f->k = percent(g, 40) ? 0 : (uint8_t)below(g, 8);
	f->z = f->k && percent(g, 30);
	f->bcast = percent(g, 20);
	f->v5 = f->vvvv && percent(g, 50);
	f->r5 = percent(g, 50);
	if (percent(g, 10)) {			/* gathers, scatters */
		f->map = 2;
		f->opcode = (uint8_t)((f->enc == EVEX && percent(g, 50) ? 0xa0 : 0x90) +
				      below(g, 4));
		f->pp = 1;
		f->bcast = f->z = 0;
		if (f->enc == EVEX)
			f->vvvv = f->v5 = 0;
	} else if (f->enc == VEX && percent(g, 15)) {	/* general registers */
		static const uint8_t ops[] = { 0xf2, 0xf3, 0xf5, 0xf6, 0xf7 };

		f->map = 2;
		f->opcode = ops[below(g, 5)];
		f->vl = 0;
		f->vvvv = a_register(g);
	}
}

static uint8_t *put_vex(struct gen *g, const struct form *f, uint8_t *b)
{
	uint8_t r = !(f->reg >> 3), x = !(f->index >> 3), bb = !((f->base | f->rm) >> 3);
	uint8_t v = (uint8_t)(~f->vvvv & 15);

	if (x && bb && f->map == 1 && !f->w && percent(g, 60)) {
		*b++ = 0xc5;
		*b++ = (uint8_t)(r << 7 | v << 3 | f->vl << 2 | f->pp);
		return b;
	}
	*b++ = 0xc4;
	*b++ = (uint8_t)(r << 7 | x << 6 | bb << 5 | f->map);
	*b++ = (uint8_t)(f->w << 7 | v << 3 | f->vl << 2 | f->pp);
	return b;
}

static uint8_t *put_evex(const struct form *f, uint8_t *b)
{
	uint8_t r = !(f->reg >> 3), x = !(f->index >> 3), bb = !((f->base | f->rm) >> 3);

	*b++ = 0x62;
	*b++ = (uint8_t)(r << 7 | x << 6 | bb << 5 | (!f->r5) << 4 | f->map);
	*b++ = (uint8_t)(f->w << 7 | (~f->vvvv & 15) << 3 | 4 | f->pp);
	*b++ = (uint8_t)(f->z << 7 | f->vl << 5 | f->bcast << 4 | (!f->v5) << 3 | f->k);
	return b;
}

static uint8_t *put_legacy(struct gen *g, const struct form *f, uint8_t *b)
{
	uint8_t rex = (uint8_t)((f->reg >> 3) << 2 | (f->index >> 3) << 1 |
				(f->base | f->rm) >> 3 | (percent(g, 45) ? 8 : 0));

	if (f->rex || (rex & 7))
		*b++ = 0x40 | rex;
	if (f->map)
		*b++ = 0x0f;
	if (f->map >= 2)
		*b++ = f->map == 2 ? 0x38 : 0x3a;
	return b;
}

void form_bytes(struct gen *g, uint8_t *b)
{
	struct form f = { .rex = percent(g, 65) };
	uint32_t k = below(g, 100);
	uint64_t imm = fuzz_random(&g->s);

	f.enc = k < 66 ? LEGACY : k < 84 ? VEX : EVEX;
	if (f.enc == LEGACY)
		form_legacy_opcode(g, &f);
	else
		form_vector_opcode(g, &f);
	form_prefixes(g, &f);
	f.reg = a_register(g);
	if (f.enc == LEGACY && !f.rex)
		f.reg &= 7;
	if (percent(g, 60)) {
		form_memory(g, &f);
	} else {
		f.rm = a_register(g);
		if (f.enc == LEGACY && !f.rex)
			f.rm &= 7;
		f.index = f.enc == EVEX && percent(g, 50) ? 8 : 0;
		f.tail[f.ntail++] = (uint8_t)(0xc0 | (f.reg & 7) << 3 | (f.rm & 7));
	}
	memcpy(b, f.prefix, f.nprefix);
	b += f.nprefix;
	b = f.enc == VEX ? put_vex(g, &f, b) : f.enc == EVEX ? put_evex(&f, b) :
		put_legacy(g, &f, b);
	*b++ = f.opcode;
	memcpy(b, f.tail, f.ntail);
	b += f.ntail;
	if (percent(g, 50))
		imm &= 0x3f3f;
	memcpy(b, &imm, 8);
}
