// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Make a case: the registers' values, then instruction after instruction, keeping
 * track of which registers can still be part of an address.
 */
#include <string.h>

#include "insn_gen.h"

static ZydisDecoder decoder;

enum window a_window(struct gen *g, int rip)
{
	if (rip)
		return g->c->place == AT_LOW ? WIN_LOW : g->c->place == AT_LIBS ? WIN_LIBS :
			percent(g, 50) ? WIN_BELOW : WIN_ABOVE;
	return percent(g, 45) ? WIN_LOW : (enum window)below(g, NWINDOWS);
}

uint64_t in_window(struct gen *g, enum window w)
{
	uint64_t off = 1024 + below(g, 2048);

	if (percent(g, 75))
		off &= ~63ull;
	else if (percent(g, 50))
		off &= ~7ull;
	if (percent(g, 3))
		off = percent(g, 50) ? below(g, 64) : WINDOW_SIZE - 1 - below(g, 64);
	return window_at[w] + off;
}

static uint64_t a_bad_address(struct gen *g)
{
	static const uint64_t bad[] = {
		BAD_UNMAPPED, BAD_READONLY, BAD_BUS, 0, 0x8000000000000000ull,
		0xffffffff81000000ull, 0x00007ffffffff000ull,
	};

	return bad[below(g, sizeof(bad) / sizeof(bad[0]))] + below(g, 64) * 8;
}

static void choose_register(struct gen *g, unsigned int r)
{
	static const uint8_t likely_pointer[] = { 50, 20, 45, 70, 97, 65, 75, 75,
						  50, 50, 50, 50, 55, 55, 50, 60 };
	struct fuzz_case *c = g->c;
	enum window w;

	if (percent(g, likely_pointer[r])) {
		w = a_window(g, 0);
		c->gpr[r] = in_window(g, w);
		g->pointer |= (uint16_t)BIT(r);
		if (w == WIN_LOW)
			g->low |= (uint16_t)BIT(r);
	} else if (percent(g, 60)) {
		c->gpr[r] = below(g, 65);
		if (percent(g, 10))
			c->gpr[r] = -c->gpr[r];
		g->small |= (uint16_t)BIT(r);
	} else if (percent(g, 35)) {
		c->gpr[r] = a_bad_address(g);
	} else {
		c->gpr[r] = fuzz_random(&g->s) >> below(g, 64);
	}
}

static void choose_state(struct gen *g)
{
	struct fuzz_case *c = g->c;

	c->seed = fuzz_random(&g->s);
	c->place = (uint8_t)below(g, NPLACES);
	c->pad = (uint8_t)below(g, 32);
	for (unsigned int r = 0; r < 16; r++)
		choose_register(g, r);
	c->flags = (fuzz_random(&g->s) & 0x8d5) | 0x202 | (percent(g, 12) ? 0x400 : 0);
	c->fsbase = percent(g, 50) ? below(g, 8) * 64 : percent(g, 90) ? 0 : in_window(g, WIN_MID);
	c->gsbase = percent(g, 50) ? below(g, 8) * 64 : percent(g, 90) ? 0 : in_window(g, WIN_MID);
	c->mxcsr = 0x1f80;
	if (percent(g, 20))
		c->mxcsr = percent(g, 20) ? (uint32_t)fuzz_random(&g->s) & 0xffbf :
			0x1f80 | (fuzz_random(&g->s) & 0xe07f);
	c->fcw = 0x37f;
	if (percent(g, 20))
		c->fcw = percent(g, 20) ? (uint16_t)(fuzz_random(&g->s) & 0xf7f) | 0x40 :
			(uint16_t)(0x7f | (fuzz_random(&g->s) & 0xf00));
}

static void forget(struct gen *g, unsigned int r)
{
	g->pointer &= (uint16_t)~BIT(r);
	g->low &= (uint16_t)~BIT(r);
	g->small &= (uint16_t)~BIT(r);
}

static void forget_written(struct gen *g, const ZydisDecodedInstruction *in,
			   const ZydisDecodedOperand *op)
{
	int string = in->meta.category == ZYDIS_CATEGORY_STRINGOP;

	if (in->mnemonic == ZYDIS_MNEMONIC_INC || in->mnemonic == ZYDIS_MNEMONIC_DEC)
		return;
	for (int i = 0; i < in->operand_count; i++) {
		ZydisRegister r;

		if (op[i].type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		r = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, op[i].reg.value);
		if (r < ZYDIS_REGISTER_RAX || r > ZYDIS_REGISTER_R15 ||
		    (string && r != ZYDIS_REGISTER_RAX) ||
		    (r == ZYDIS_REGISTER_RSP &&
		     op[i].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN))
			continue;
		forget(g, (unsigned int)ZydisRegisterGetId(r));
	}
}

static int decode(const uint8_t *b, ZydisDecodedInstruction *in, ZydisDecodedOperand *op)
{
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, b, 15, in, op)) && allowed(in, op, b);
}

/*
 * The same with Zydis's encoder: its own choice of prefixes, and sometimes r15 instead of another
 * register.
 */
static int reencode(struct gen *g, uint8_t *b, ZydisDecodedInstruction *in,
		    ZydisDecodedOperand *op)
{
	ZydisEncoderRequest req;
	ZyanUSize n = 15;

	if (ZYAN_FAILED(ZydisEncoderDecodedInstructionToEncoderRequest(in, op,
				in->operand_count_visible, &req)))
		return 1;
	for (int i = 0; i < req.operand_count; i++) {
		ZydisRegisterClass class = ZydisRegisterGetClass(req.operands[i].reg.value);

		if (req.operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER && percent(g, 30) &&
		    class >= ZYDIS_REGCLASS_GPR8 && class <= ZYDIS_REGCLASS_GPR64)
			req.operands[i].reg.value = ZydisRegisterEncode(class,
					class == ZYDIS_REGCLASS_GPR8 ? 19 : 15);
	}
	if (ZYAN_FAILED(ZydisEncoderEncodeInstruction(&req, b, &n)))
		return 0;
	return decode(b, in, op);
}

/* Give rip-relative and absolute operands a valid target. */
static void aim(struct gen *g, uint8_t *b, const ZydisDecodedInstruction *in,
		const ZydisDecodedOperand *op)
{
	for (int i = 0; i < in->operand_count; i++) {
		const ZydisDecodedOperand *o = &op[i];
		uint64_t at;
		int32_t rel;

		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || percent(g, 2))
			continue;
		if (o->mem.base == ZYDIS_REGISTER_RIP || o->mem.base == ZYDIS_REGISTER_EIP) {
			at = in_window(g, a_window(g, 1));
			rel = (int32_t)(at - (g->pc + in->length));
			memcpy(b + in->raw.disp.offset, &rel, 4);
		} else if (in->raw.disp.size == 64) {
			at = in_window(g, a_window(g, 0));
			memcpy(b + in->raw.disp.offset, &at, 8);
		}
	}
}

/* Return: its length, 0: try again */
static unsigned int random_insn(struct gen *g, uint8_t *b)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction in;

	form_bytes(g, b);
	if (!decode(b, &in, op))
		return 0;
	if (percent(g, 30) && !reencode(g, b, &in, op))
		return 0;
	if (percent(g, 5)) {
		b[below(g, in.length)] ^= (uint8_t)BIT(below(g, 8));
		if (!decode(b, &in, op))
			return 0;
	}
	/* A random 32-bit address could be in one of the engine's tables below 2 GiB. */
	if (!promising(g, &in, op) && (in.address_width == 32 || !percent(g, 5)))
		return 0;
	aim(g, b, &in, op);
	forget_written(g, &in, op);
	return in.length;
}

static unsigned int load_pointer(struct gen *g, uint8_t *b)
{
	unsigned int r = percent(g, 40) ? 15 : below(g, 16);
	enum window w = a_window(g, 0);
	uint64_t at = in_window(g, w);

	b[0] = (uint8_t)(0x48 | r >> 3);
	b[1] = (uint8_t)(0xb8 | (r & 7));
	memcpy(b + 2, &at, 8);
	forget(g, r);
	g->pointer |= (uint16_t)BIT(r);
	if (w == WIN_LOW)
		g->low |= (uint16_t)BIT(r);
	return 10;
}

static unsigned int set_flags(struct gen *g, uint8_t *b)
{
	uint32_t flags = (uint32_t)fuzz_random(&g->s) & 0xcd5;

	b[0] = 0x68;
	memcpy(b + 1, &flags, 4);
	b[5] = 0x9d;
	return 6;
}

/* A forward jump; its target is filled in at the end. */
static unsigned int branch(struct gen *g, uint8_t *b)
{
	unsigned int n = 0;

	if (percent(g, 40)) {
		if (percent(g, 30))
			b[n++] = 0x67;
		b[n++] = (uint8_t)(0xe0 + below(g, 4));
		b[n++] = 0;
		return n;
	}
	if (percent(g, 60)) {
		b[n++] = (uint8_t)(0x70 + below(g, 16));
		b[n++] = 0;
		return n;
	}
	b[n++] = 0x0f;
	b[n++] = (uint8_t)(0x80 + below(g, 16));
	memset(b + n, 0, 4);
	return n + 4;
}

static unsigned int base_register(struct gen *g, uint8_t *b)
{
	unsigned int r = percent(g, 40) ? 15 : below(g, 16), op = below(g, 4), n = 0;

	/* For an address: a different r15 does not fault in gs under the engine. */
	if (op >= 2) {
		uint64_t at = percent(g, 80) ? below(g, 8) * 64 : in_window(g, WIN_MID);

		b[n++] = (uint8_t)(0x48 | r >> 3);
		b[n++] = (uint8_t)(0xb8 | (r & 7));
		memcpy(b + n, &at, 8);
		n += 8;
	}
	forget(g, r);
	b[n++] = 0xf3;
	b[n++] = (uint8_t)((percent(g, 20) ? 0x40 : 0x48) | r >> 3);
	b[n++] = 0x0f;
	b[n++] = 0xae;
	b[n++] = (uint8_t)(0xc0 | op << 3 | (r & 7));
	return n;
}

static unsigned int next_insn(struct gen *g, uint8_t *b, int *is_branch)
{
	uint32_t k = below(g, 100);
	unsigned int n;

	*is_branch = 0;
	if (k < 7)
		return load_pointer(g, b);
	if (k < 9)
		return set_flags(g, b);
	if (k < 12)
		return base_register(g, b);
	if (k < 18) {
		*is_branch = 1;
		return branch(g, b);
	}
	do
		n = random_insn(g, b);
	while (!n);
	return n;
}

void generate_case(struct fuzz_case *c, uint64_t seed, uint64_t number)
{
	struct gen g = { .s = seed * 0x2545f4914f6cdd1dull + number * 0x9e6c63d0676a9a99ull,
			 .c = c };
	uint8_t jump[MAX_INSNS] = { 0 }, end[MAX_INSNS] = { 0 };
	int is_branch;

	if (!decoder.stack_width)
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	fuzz_random(&g.s);
	memset(c, 0, sizeof(*c));
	choose_state(&g);
	c->ninsns = (uint8_t)(1 + below(&g, MAX_INSNS));
	for (int i = 0; i < c->ninsns; i++) {
		uint8_t b[40] = { 0 };
		unsigned int n;

		g.pc = case_pc(c, number) + c->len;
		n = next_insn(&g, b, &is_branch);
		memcpy(c->code + c->len, b, n);
		c->off[i] = c->len;
		c->len = (uint8_t)(c->len + n);
		end[i] = c->len;
		jump[i] = (uint8_t)is_branch;
	}
	/* To the end, or to an instruction in between: the code is valid for any condition. */
	for (int i = 0; i < c->ninsns; i++) {
		int to = i + 1 + (int)below(&g, (uint32_t)(c->ninsns - i)), long_form;

		if (!jump[i])
			continue;
		long_form = end[i] - c->off[i] == 6;
		c->code[end[i] - (long_form ? 4 : 1)] =
			(uint8_t)((to == c->ninsns ? c->len : c->off[to]) - end[i]);
	}
}
