// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The decoder and x86_derive() against the processor, for random integer instructions.
 * ADEPT_TEST_SEED and ADEPT_TEST_COUNT set seed and number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "libdep/x86/derive.h"
#include "libdep/x86/liveness.h"
#include "run_native.h"
#include "tests/unit/lib/random.h"

static unsigned int bad, derived;
static unsigned int hist[X86_D_XCHG + 1];

static void complain(const u8 *code, unsigned int len, const char *what, unsigned int reg, u64 got,
		     u64 want)
{
	unsigned int i;

	if (++bad > 20)
		return;
	fprintf(stderr, "%s %u: %llx, processor %llx:", what, reg, (unsigned long long)got,
		(unsigned long long)want);
	for (i = 0; i < len; i++)
		fprintf(stderr, " %02x", code[i]);
	fputc('\n', stderr);
}

static const u8 map0_ops[] = {
	0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x10, 0x11, 0x13,
	0x18, 0x19, 0x1b, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d,
	0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x38, 0x39, 0x3b, 0x3d, 0x50, 0x53, 0x54, 0x58, 0x5b,
	0x5c, 0x5d, 0x63, 0x68, 0x69, 0x6a, 0x6b, 0x80, 0x81, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88,
	0x89, 0x8a, 0x8b, 0x8d, 0x8d, 0x8d, 0x8f, 0x90, 0x91, 0x94, 0x97, 0x98, 0x99, 0x9c, 0x9f,
	0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf, 0xb0, 0xb4, 0xb7, 0xb8,
	0xbb, 0xbd, 0xc0, 0xc1, 0xc2, 0xc3, 0xc6, 0xc7, 0xc8, 0xc9, 0xd0, 0xd1, 0xd2, 0xd3, 0xe0,
	0xe1, 0xe2, 0xe3, 0xe8, 0xf5, 0xf6, 0xf7, 0xf8, 0xfc, 0xfe, 0xff,
};

static const u8 map1_ops[] = {
	0x40, 0x45, 0x4f, 0x90, 0x95, 0xa2, 0xa3, 0xa4, 0xa5, 0xa0, 0xab, 0xac, 0xad, 0xaf, 0xb0,
	0xb1, 0xb3, 0xb6, 0xb7, 0xb8, 0xba, 0xbb, 0xbc, 0xbd, 0xbe, 0xbf, 0xc0, 0xc1, 0xc8, 0xca,
	0xcc, 0xcf, 0x1f, 0xa8,
};

static void generate(u8 *code)
{
	unsigned int n = 0, i, r = rnd();

	if (!(r & 7))
		code[n++] = 0x66;
	if (!(r >> 3 & 15))
		code[n++] = 0x67;
	if (!(r >> 7 & 15))
		code[n++] = r >> 11 & 1 ? 0xf3 : 0xf2;
	if (r >> 12 & 1)
		code[n++] = 0x40 | (rnd() & 15);
	if (r >> 13 & 3) {
		code[n++] = map0_ops[rnd() % sizeof(map0_ops)];
	} else {
		code[n++] = 0x0f;
		code[n++] = map1_ops[rnd() % sizeof(map1_ops)];
	}
	for (i = n; i < 16; i++)
		code[i] = rnd();
	if (code[n - 1] != 0x8d)
		code[n] |= 0xc0;
}

static int is_stack_op(const struct x86_insn *in)
{
	unsigned int i;

	for (i = 0; i < in->nmem; i++)
		if (in->mem[i].base != X86_RSP || in->mem[i].index != X86_NONE ||
		    in->mem[i].disp < -64 || in->mem[i].disp > 64)
			return 0;
	return 1;
}

/* Can it be executed without harm?  Changes operands that would lead control away. */
static int usable(struct x86_insn *in, u8 *code)
{
	switch (in->kind) {
	case X86_NORMAL:
		if (in->map == 0 && (in->opcode & 0xfe) == 0xf6 && (in->modrm >> 3 & 7) >= 6)
			return 0;	/* division */
		if (in->map == 0 && in->opcode == 0xc8) {
			/* level 0; it probes the stack at the new rsp */
			code[in->off_imm + 1] &= 3;
			code[in->off_imm + 2] &= 0xe0;
			return x86_decode(in, code, 15) > 0;
		}
		if (in->map == 0 && in->opcode == 0xc9)
			return in->opsize == 8;
		if (in->map == 0 && in->opcode == 0xc6 && in->modrm == 0xf8)
			return 0;	/* xabort */
		return in->enc == X86_LEGACY && !(in->attr & X86_A_MOVSEG) && is_stack_op(in);
	case X86_STRING:
		return !(in->attr & X86_A_ADDR32);
	case X86_RET:
		return !(in->attr & X86_A_BRANCH16);
	case X86_LOOP:
	case X86_CALL:
		if (in->attr & X86_A_BRANCH16)
			return 0;
		memset(code + in->off_imm, 0, in->imm_len);
		in->imm = 0;
		return 1;
	default:
		return 0;
	}
}

static u64 value(void)
{
	u64 v = rnd();

	switch (rnd() % 6) {
	case 0:
		return (u64)(s64)(s8)v;
	case 1:
		return (u32)v;
	case 2:
		return (u64)(s64)(s32)v;
	default:
		return v;
	}
}

static void registers(struct native_regs *r, const struct x86_insn *in)
{
	unsigned int i;

	for (i = 0; i < 16; i++)
		r->gpr[i] = value();
	r->gpr[X86_RSP] = native_scratch() + (rnd() & 0x1f8);
	if (in->kind == X86_STRING) {
		r->gpr[X86_RCX] = rnd() % 24;
		r->gpr[X86_RSI] = native_scratch() + 512 + (rnd() & 511);
		r->gpr[X86_RDI] = native_scratch() + 512 + (rnd() & 511);
	}
	if (in->map == 0 && in->opcode == 0xc9)
		r->gpr[X86_RBP] = native_scratch() + (rnd() & 0x1f8);
	if (in->kind == X86_RET)
		*(u64 *)r->gpr[X86_RSP] = native_pc() + in->len;
	r->flags = (rnd() & X86_ARITH_FLAGS) | 0x202;
}

static void check_derived(const u8 *code, const struct x86_insn *in,
			  const struct native_regs *before, const struct native_regs *after)
{
	struct x86_dop ops[X86_MAX_DOPS];
	u16 known = rnd() & rnd(), result;
	unsigned int i, nops;
	u64 regs[16];

	if (rnd() & 1)
		known = ~known;
	for (i = 0; i < 16; i++)
		regs[i] = known >> i & 1 ? before->gpr[i] : rnd();
	result = x86_derive(in, native_pc(), known, ops, &nops);
	assert_true(nops <= X86_MAX_DOPS);
	assert_int_equal(result, x86_derive(in, native_pc(), known, NULL, NULL));
	x86_derive_run(ops, nops, regs);
	for (i = 0; i < nops; i++)
		hist[ops[i].code]++;
	derived += nops;
	for (i = 0; i < 16; i++) {
		if (!(result >> i & 1))
			continue;
		if (in->kind == X86_STRING && (i == X86_RSI || i == X86_RDI))
			continue;
		if (regs[i] != after->gpr[i])
			complain(code, in->len, "derived", i, regs[i], after->gpr[i]);
	}
}

/* The masks: unwritten registers and flags stay, unread flags do not matter. */
static void check_masks(const u8 *code, const struct x86_insn *in, const struct native_regs *before,
			const struct native_regs *after)
{
	struct native_regs before2 = *before, after2;
	u64 flags;
	unsigned int i;

	for (i = 0; i < 16; i++)
		if (!(in->gpr_write >> i & 1) && before->gpr[i] != after->gpr[i] &&
		    !(in->kind == X86_CALL && i == X86_RSP))
			complain(code, in->len, "unwritten", i, before->gpr[i], after->gpr[i]);
	flags = (before->flags ^ after->flags) & X86_ARITH_FLAGS & ~in->flags_write;
	if (flags)
		complain(code, in->len, "flags", 0, before->flags, after->flags);

	if (in->kind != X86_NORMAL || in->nmem)
		return;
	before2.flags = ((before->flags ^ rnd()) & X86_ARITH_FLAGS & ~in->flags_read) |
			(before->flags & in->flags_read) | 0x202;
	/* a register that is overwritten wholly and not read does not matter either */
	for (i = 0; i < 16; i++)
		if (in->gpr_full & ~in->gpr_read & X86_BIT(i) && i != X86_RSP)
			before2.gpr[i] = rnd();
	native_run(code, in->len, &before2, &after2);
	for (i = 0; i < 16; i++)
		if (after->gpr[i] != after2.gpr[i])
			complain(code, in->len, "unread", i, after->gpr[i], after2.gpr[i]);
	flags = (after->flags ^ after2.flags) & x86_dead_flags(in, 1);
	if (flags)
		complain(code, in->len, "kill", 0, after->flags, after2.flags);
}

static void test_derive(void **arg)
{
	u64 count = from_env("ADEPT_TEST_COUNT", 400000), done = 0;
	struct native_regs before, after;
	struct x86_insn in;
	u8 code[16];
	unsigned int i;

	(void)arg;
	assert_int_equal(native_init(), 0);
	while (done < count) {
		generate(code);
		if (x86_decode(&in, code, 15) <= 0 || !usable(&in, code))
			continue;
		registers(&before, &in);
		native_run(code, in.len, &before, &after);
		check_derived(code, &in, &before, &after);
		check_masks(code, &in, &before, &after);
		done++;
	}
	print_message("%llu instructions, %u derivations, %u wrong\n", (unsigned long long)done,
		      derived, bad);
	for (i = 0; i <= X86_D_XCHG; i++)
		assert_true(hist[i] > 0);
	assert_int_equal(bad, 0);
}

static unsigned int decode_all(struct x86_insn *in, const u8 *code, unsigned int len)
{
	unsigned int n = 0, pos = 0;

	for (; pos < len; pos += in[n++].len)
		assert_true(x86_decode(&in[n], code + pos, len - pos) > 0);
	return n;
}

static void test_dead(void **arg)
{
	/* mov eax,ecx; xor edx,edx; mov bl,1; add esi,1; mov edi,edi; jmp; mov ecx,1 */
	static const u8 code[] = { 0x89, 0xc8, 0x31, 0xd2, 0xb3, 0x01, 0x83, 0xc6, 0x01, 0x89, 0xff,
				   0xeb, 0x00, 0xb9, 1,	   0,	 0,    0 };
	/* shl eax,0; inc eax / pushfq; add / test */
	static const u8 f1[] = { 0xc1, 0xe0, 0x00, 0xff, 0xc0 };
	static const u8 f2[] = { 0x9c, 0x01, 0xc0 };
	static const u8 f3[] = { 0x85, 0xc0 };
	struct x86_insn in[16];

	(void)arg;
	assert_int_equal(x86_dead_gprs(in, decode_all(in, code, sizeof(code))),
			 X86_BIT(X86_RAX) | X86_BIT(X86_RDX));
	assert_int_equal(x86_dead_flags(in, decode_all(in, f1, sizeof(f1))),
			 X86_ARITH_FLAGS & ~X86_CF);
	assert_int_equal(x86_dead_flags(in, decode_all(in, f2, sizeof(f2))), 0);
	assert_int_equal(x86_dead_flags(in, decode_all(in, f3, sizeof(f3))), X86_ARITH_FLAGS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_derive),
		cmocka_unit_test(test_dead),
	};

	rnd_state = from_env("ADEPT_TEST_SEED", time(NULL));
	print_message("ADEPT_TEST_SEED=%llu\n", (unsigned long long)rnd_state);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
