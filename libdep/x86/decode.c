// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The decoder: prefixes and ModRM are decoded by code, everything else by the generated tables.
 *
 * Compiled into the engine image, so: no libc, no vector registers, no relocations.
 */
#include "decode_internal.h"
#include "x86tab.h"

#define unlikely(x)	__builtin_expect(!!(x), 0)

#define MAX_LEN		15

/*
 * Result of x86_decode() if the bytes end within the instruction: -1 if it may be longer, 0 if it
 * already has the maximal length.
 */
static int ran_out(const struct x86_cursor *c)
{
	return c->limit >= MAX_LEN ? 0 : -1;
}

static inline s64 fetch(const u8 *p, unsigned int len)
{
	switch (len) {
	case 1:
		return (s8)p[0];
	case 2:
		return (s16)(p[0] | p[1] << 8);
	case 4:
		return (s32)(p[0] | p[1] << 8 | p[2] << 16 | (u32)p[3] << 24);
	case 8:
		return (s64)((u64)(u32)fetch(p, 4) | (u64)fetch(p + 4, 4) << 32);
	default:
		return 0;
	}
}

/**
 * prefixes() - read legacy prefixes and REX
 *
 * A REX prefix that is followed by another prefix is ignored.
 *
 * Return: 1, with c->pos at the first byte of the opcode; otherwise the result for x86_decode().
 */
static int prefixes(struct x86_insn *in, struct x86_cursor *c)
{
	for (; c->pos < c->limit; c->pos++) {
		u8 byte = c->code[c->pos];

		if ((byte & 0xf0) == 0x40) {
			in->rex = byte;
			continue;
		}
		switch (byte) {
		case 0x66:
			c->p66 = 1;
			break;
		case 0x67:
			in->attr |= X86_A_ADDR32;
			break;
		case 0xf0:
			in->attr |= X86_A_LOCK;
			break;
		case 0xf2:
			c->rep = 2;
			break;
		case 0xf3:
			c->rep = 1;
			break;
		case 0x64:
		case 0x65:
			in->off_seg = c->pos + 1;
			c->seg = byte == 0x64 ? X86_SEG_FS : X86_SEG_GS;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		/* es, cs, ss, ds prefixes: ignored in 64-bit mode; they do not undo fs and gs */
		case 0x3e:
			break;
		default:
			return 1;
		}
		in->rex = 0;
	}
	return ran_out(c);
}

static int vex(struct x86_insn *in, struct x86_cursor *c, u8 first)
{
	const u8 *p = c->code + c->pos;
	unsigned int payload;

	if (in->rex || in->attr & X86_A_LOCK || c->rep || c->p66)
		return 0;
	in->off_vex = c->pos + 1;
	if (c->pos + 3 > c->limit)
		return ran_out(c);
	if (first == 0xc5) {
		in->enc = X86_VEX;
		in->map = 1;
		c->r = !(p[1] & 0x80);
		payload = p[1] & 0x7f;
		c->pos += 2;
	} else {
		in->enc = first == 0xc4 ? X86_VEX : X86_XOP;
		in->map = p[1] & 0x1f;
		c->r = !(p[1] & 0x80);
		c->x = !(p[1] & 0x40);
		c->b = !(p[1] & 0x20);
		payload = p[2];
		c->w = payload >> 7;
		in->w = c->w;
		c->pos += 3;
	}
	c->vvvv = ~(payload >> 3) & 15;
	in->vl = payload >> 2 & 1;
	in->pp = payload & 3;
	if (in->enc == X86_VEX) {
		if (in->map < 1 || in->map > 3)
			return 0;
		c->top = X86_TOP_VEX + in->map - 1;
	} else {
		if (in->map > 10)
			return 0;
		c->top = X86_TOP_XOP + in->map - 8;
	}
	return 1;
}

static int evex(struct x86_insn *in, struct x86_cursor *c)
{
	const u8 *p = c->code + c->pos;

	if (in->rex || in->attr & X86_A_LOCK || c->rep || c->p66)
		return 0;
	in->off_vex = c->pos + 1;
	if (c->pos + 4 > c->limit)
		return ran_out(c);
	in->enc = X86_EVEX;
	in->map = p[1] & 7;
	if (p[1] & 8 || !(p[2] & 4) || in->map < 1 || in->map > 6)
		return 0;
	c->r = !(p[1] & 0x80);
	c->x = !(p[1] & 0x40);
	c->b = !(p[1] & 0x20);
	c->r2 = !(p[1] & 0x10);
	c->w = p[2] >> 7;
	in->w = c->w;
	c->vvvv = (~(p[2] >> 3) & 15) | (p[3] & 8 ? 0 : 16);
	in->pp = p[2] & 3;
	c->z = p[3] >> 7;
	in->vl = p[3] >> 5 & 3;
	c->bc = p[3] >> 4 & 1;
	in->evex_k = p[3] & 7;
	c->pos += 4;
	c->top = X86_TOP_EVEX + in->map - 1;
	return 1;
}

/* Read the escape bytes, VEX or EVEX prefix and opcode. */
static int opcode(struct x86_insn *in, struct x86_cursor *c)
{
	u8 byte = c->code[c->pos];
	int ret;

	if (unlikely(byte == 0xc4 || byte == 0xc5 || byte == 0x62)) {
		ret = byte == 0x62 ? evex(in, c) : vex(in, c, byte);
		if (ret <= 0)
			return ret;
	} else if (unlikely(byte == 0x8f)) {
		if (c->pos + 1 >= c->limit)
			return ran_out(c);
		if ((c->code[c->pos + 1] & 0x1f) >= 8) {
			ret = vex(in, c, byte);
			if (ret <= 0)
				return ret;
		}
	} else if (byte == 0x0f) {
		in->map = 1;
		if (++c->pos >= c->limit)
			return ran_out(c);
		byte = c->code[c->pos];
		if (byte == 0x38 || byte == 0x3a) {
			in->map = byte == 0x38 ? 2 : 3;
			c->pos++;
		}
		c->top = in->map;
	}
	if (c->pos >= c->limit)
		return ran_out(c);
	if (in->enc == X86_LEGACY) {
		c->r = in->rex >> 2 & 1;
		c->x = in->rex >> 1 & 1;
		c->b = in->rex & 1;
		c->w = in->rex >> 3 & 1;
		in->pp = c->rep ? c->rep + 1 : c->p66;
	}
	in->off_opcode = c->pos;
	in->opcode = c->code[c->pos++];
	return 1;
}

static const struct x86_row *find_row(const struct x86_insn *in, const struct x86_cursor *c)
{
	unsigned int e = x86_top[c->top * 256 + in->opcode];
	u8 dim[X86_NDIM];

	if (e >= X86_T_NODE) {
		dim[X86_DIM_PP] = in->enc == X86_LEGACY ? c->rep : in->pp;
		dim[X86_DIM_MOD] = in->modrm >= 0xc0;
		dim[X86_DIM_OSZ] = in->enc == X86_LEGACY ? c->w << 1 | c->p66 : c->w;
		dim[X86_DIM_L] = in->vl;
		dim[X86_DIM_BC] = c->bc;
		dim[X86_DIM_REG] = in->modrm >> 3 & 7;
		dim[X86_DIM_RM] = in->modrm & 7;
		dim[X86_DIM_R] = c->r;
		dim[X86_DIM_B] = c->b;
		do {
			const u16 *node = &x86_nodes[e & ~X86_T_NODE];

			e = node[1 + dim[node[0]]];
		} while (e >= X86_T_NODE);
	}
	return &x86_rows[e];
}

/* Read the SIB byte and the displacement. */
static int address(struct x86_insn *in, struct x86_cursor *c, const struct x86_row *row)
{
	unsigned int mod = in->modrm >> 6, rm = in->modrm & 7, base, index;

	in->disp_len = mod == 1 ? 1 : mod == 2 ? 4 : 0;
	if (rm == 4) {
		if (c->pos >= c->limit)
			return ran_out(c);
		in->off_sib = c->pos;
		in->sib = c->code[c->pos++];
		base = (in->sib & 7) | c->b << 3;
		index = (in->sib >> 3 & 7) | c->x << 3;
		if (row->fields & X86_RF_VSIB)
			in->index = index | (in->enc == X86_EVEX ? c->vvvv & 16 : 0);
		else if (index != 4)
			in->index = index;
		if ((base & 7) == 5 && !mod) {
			base = X86_NONE;
			in->disp_len = 4;
		}
		in->base = base;
	} else if (rm == 5 && !mod) {
		in->base = X86_RIP;
		in->attr |= X86_A_RIPREL;
		in->disp_len = 4;
	} else {
		in->base = rm | c->b << 3;
	}
	if (in->disp_len) {
		if (c->pos + in->disp_len > c->limit)
			return ran_out(c);
		in->off_disp = c->pos;
		in->disp = fetch(c->code + c->pos, in->disp_len);
		if (in->disp_len == 1)
			in->disp = (s32)((u32)in->disp << row->cd8);
		c->pos += in->disp_len;
	}
	return 1;
}

static int immediate(struct x86_insn *in, struct x86_cursor *c, const struct x86_row *row)
{
	unsigned int len = row->imm_len;
	const u8 *p = c->code + c->pos;

	if (row->fields & X86_RF_MOFFS)
		len = in->attr & X86_A_ADDR32 ? 4 : 8;
	if (c->pos + len > c->limit)
		return ran_out(c);
	if (row->fields & X86_RF_MOFFS) {
		in->off_disp = c->pos;
		in->disp_len = len;
	} else {
		in->off_imm = c->pos;
		in->imm_len = len;
	}
	if (len == 3)	/* enter has a 16-bit and an 8-bit immediate */
		in->imm = p[0] | p[1] << 8 | p[2] << 16;
	else
		in->imm = fetch(p, len);
	if (in->kind == X86_RET)
		in->imm = (u16)in->imm;
	else if (in->kind == X86_INT)
		in->imm = (u8)in->imm;
	c->pos += len;
	return 1;
}

static int violates(const struct x86_insn *in, const struct x86_cursor *c, unsigned int cons)
{
	unsigned int reg = in->modrm >> 3 & 7, rm = in->modrm & 7;
	int is_mem = in->modrm < 0xc0;

	if (cons & X86_C_SIB && !in->off_sib)
		return 1;
	if (cons & X86_C_NORIP && in->base == X86_RIP)
		return 1;
	if (in->enc == X86_LEGACY)
		return 0;
	reg |= c->r << 3 | c->r2 << 4;
	rm |= c->b << 3 | (in->enc == X86_EVEX ? c->x << 4 : 0);
	if ((cons & X86_C_VV0 && c->vvvv & 15) || (cons & X86_C_VV8 && c->vvvv & 8) ||
	    (cons & X86_C_V2 && c->vvvv & 16) || (cons & X86_C_R && c->r) ||
	    (cons & X86_C_R2 && c->r2) || (cons & X86_C_X && c->x) || (cons & X86_C_B && c->b) ||
	    (cons & X86_C_Z && c->z) || (cons & X86_C_K0 && in->evex_k) ||
	    (cons & X86_C_KN && !in->evex_k) || (cons & X86_C_ZK && c->z && !in->evex_k))
		return 1;
	if ((cons & X86_C_NRV && reg == c->vvvv) || (cons & X86_C_NRM && !is_mem && reg == rm))
		return 1;
	if (cons & X86_C_NRV && in->enc == X86_VEX && !is_mem && rm == c->vvvv)
		return 1;
	if (cons & X86_C_NIX) {
		if (in->index == reg)
			return 1;
		if (in->enc == X86_VEX && (in->index == c->vvvv || reg == c->vvvv))
			return 1;
	}
	return 0;
}

static void clear(struct x86_insn *in)
{
	enum { HEAD = offsetof(struct x86_insn, mem), PART = 32 };
	u8 *p = (u8 *)in;

	/* Clear the head in three pieces: gcc makes a slow "rep stos" of one large memset. */
	_Static_assert(HEAD > 2 * PART && HEAD <= 3 * PART,
		       "struct x86_insn up to mem needs three pieces");
	__builtin_memset(p, 0, PART);
	__builtin_memset(p + PART, 0, PART);
	__builtin_memset(p + 2 * PART, 0, HEAD - 2 * PART);
	in->f_reg = X86_NONE;
	in->f_rm = X86_NONE;
	in->f_opc = X86_NONE;
	in->f_vvvv = X86_NONE;
	in->base = X86_NONE;
	in->index = X86_NONE;
}

/* Decode all that follows the opcode and ModRM byte. */
static int rest(struct x86_insn *in, struct x86_cursor *c, const struct x86_row *row)
{
	u32 f = row->fields;
	int ret;

	in->kind = row->kind;
	in->attr |= row->attr;
	in->opsize = row->opsize;
	if (f & X86_RF_MODRM && in->modrm < 0xc0 && !(f & X86_RF_FORCEREG)) {
		ret = address(in, c, row);
		if (ret <= 0)
			return ret;
	}
	if (row->imm_len || f & X86_RF_MOFFS) {
		ret = immediate(in, c, row);
		if (ret <= 0)
			return ret;
	}
	if (row->cons && violates(in, c, row->cons))
		return 0;
	if (in->map == 1 && in->opcode == 0x0f && in->enc == X86_LEGACY &&
	    !(x86_now_suffix[(u8)in->imm >> 3] >> (in->imm & 7) & 1))
		return 0;

	x86_operands(in, c, row);
	in->len = c->pos;
	return c->pos;
}

int x86_decode(struct x86_insn *in, const u8 *code, unsigned int avail)
{
	struct x86_cursor c = { .code = code, .limit = avail < MAX_LEN ? avail : MAX_LEN };
	const struct x86_row *row;
	unsigned int i;
	int ret;

	clear(in);
	ret = prefixes(in, &c);
	if (ret <= 0)
		goto fail;
	ret = opcode(in, &c);
	if (ret <= 0)
		goto fail;
	i = c.top * 256 + in->opcode;
	if (x86_has_modrm[i >> 3] >> (i & 7) & 1) {
		if (c.pos >= c.limit) {
			ret = ran_out(&c);
			goto fail;
		}
		in->off_modrm = c.pos;
		in->modrm = code[c.pos++];
	}
	row = find_row(in, &c);
	ret = 0;
	if (!row->kind || (in->attr & X86_A_LOCK && !(row->fields & X86_RF_LOCK)))
		goto fail;
	ret = rest(in, &c, row);
	if (ret > 0)
		return ret;
fail:
	in->kind = X86_INVALID;
	return ret;
}
