// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The decoder against Zydis: random bytes, and every opcode of every map under
 * every prefix.  ADEPT_TEST_SEED and ADEPT_TEST_COUNT set seed and number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tests/unit/lib/random.h"
#include "zydis_expect.h"

#define MAX_SHOWN	15

static unsigned int bad, checked, valid;

static void complain(const u8 *code, const char *what, long long got, long long want)
{
	unsigned int i;

	if (++bad > MAX_SHOWN)
		return;
	fprintf(stderr, "%-12s %-8s got %llx want %llx:", expect_text(), what, got, want);
	for (i = 0; i < 15; i++)
		fprintf(stderr, " %02x", code[i]);
	fputc('\n', stderr);
}

#define COMPARE(field)							\
	do {								\
		if (got.field != want.field)				\
			complain(code, #field, got.field, want.field);	\
	} while (0)

static void check(const u8 *code)
{
	struct x86_insn got, want;
	unsigned int i, cut;
	int len, wanted;

	memset(&got, 0xa5, sizeof(got));
	len = x86_decode(&got, code, 15);
	wanted = expect_insn(&want, code, 15);
	checked++;
	if (len != wanted) {
		complain(code, "length", len, wanted);
		return;
	}
	if (len <= 0) {
		assert_int_equal(got.kind, X86_INVALID);
		return;
	}
	valid++;
	COMPARE(len);
	COMPARE(kind);
	COMPARE(opcode);
	COMPARE(gpr_read);
	COMPARE(gpr_write);
	COMPARE(gpr_full);
	COMPARE(gpr_addr);
	COMPARE(flags_read);
	COMPARE(flags_write);
	COMPARE(nmem);
	COMPARE(f_reg);
	COMPARE(f_rm);
	COMPARE(f_opc);
	COMPARE(f_vvvv);
	COMPARE(base);
	COMPARE(index);
	COMPARE(off_modrm);
	COMPARE(off_sib);
	COMPARE(off_disp);
	COMPARE(disp_len);
	COMPARE(evex_k);
	COMPARE(w);
	if (want.imm_len) {
		COMPARE(off_imm);
		COMPARE(imm_len);
	}
	if ((got.attr ^ want.attr) & (X86_A_GATHER | X86_A_SCATTER | X86_A_RIPREL | X86_A_HIGH8 |
				      X86_A_LOCK | X86_A_ADDR32))
		complain(code, "attr", got.attr, want.attr);
	for (i = 0; i < got.nmem && i < want.nmem; i++) {
		COMPARE(mem[i].base);
		COMPARE(mem[i].index);
		COMPARE(mem[i].scale);
		COMPARE(mem[i].seg);
		COMPARE(mem[i].rw);
		COMPARE(mem[i].flags);
		COMPARE(mem[i].size);
		COMPARE(mem[i].disp);
	}
	if (got.enc == X86_LEGACY && got.imm_len && got.imm_len != 3 && want.imm) {
		u64 mask = ~0ull >> (64 - 8 * got.imm_len);

		if ((got.imm ^ want.imm) & mask)
			complain(code, "imm", got.imm, want.imm);
	}
	if (got.flags_kill & ~got.flags_write || got.gpr_full & ~got.gpr_write ||
	    got.gpr_addr & ~got.gpr_read)
		complain(code, "subset", got.flags_kill, got.flags_write);
	cut = rnd() % len;
	len = x86_decode(&got, code, cut);
	if (len != -1)
		complain(code, "cut", len, cut);
	if (x86_decode(&got, code, want.len) != want.len)
		complain(code, "exact", 0, want.len);
}

static void fill(u8 *code, unsigned int from)
{
	for (; from < 16; from++)
		code[from] = rnd();
}

static void finish(void)
{
	print_message("%u checked, %u valid, %u differ\n", checked, valid, bad);
	assert_int_equal(bad, 0);
	checked = valid = 0;
}

static void test_random(void **arg)
{
	u64 n = from_env("ADEPT_TEST_COUNT", 3000000);
	static const u8 likely[] = { 0x0f, 0x66, 0xf3, 0xf2, 0x48, 0x62, 0xc4, 0xc5, 0x8f,
				     0x67, 0x64, 0x65, 0x2e, 0xf0, 0x41, 0x44 };
	u8 code[16];

	(void)arg;
	while (n--) {
		unsigned int i, k = rnd() % 4;

		fill(code, 0);
		for (i = 0; i < k; i++)
			code[i] = likely[rnd() % sizeof(likely)];
		check(code);
	}
	finish();
}

static void test_legacy(void **arg)
{
	static const u8 rep[] = { 0, 0xf3, 0xf2 };
	unsigned int map, op, v, modrm, n;
	u8 code[16];

	(void)arg;
	for (map = 0; map < 4; map++) {
		for (op = 0; op < 256; op++) {
			for (v = 0; v < 24 * 256; v++) {
				n = 0;
				modrm = v & 255;
				if (v >> 8 & 1)
					code[n++] = 0x66;
				if ((v >> 9) % 3)
					code[n++] = rep[(v >> 9) % 3];
				if ((v >> 9) / 3)
					code[n++] = 0x40 | (((v >> 9) / 3 & 1) << 3) | (rnd() & 7);
				if (map)
					code[n++] = 0x0f;
				if (map > 1)
					code[n++] = map == 2 ? 0x38 : 0x3a;
				code[n++] = op;
				code[n++] = modrm;
				fill(code, n);
				check(code);
			}
		}
	}
	finish();
}

static void test_vex(void **arg)
{
	unsigned int map, op, v, xop;
	u8 code[16];

	(void)arg;
	for (xop = 0; xop < 2; xop++) {
		for (map = xop ? 8 : 1; map <= (xop ? 10u : 3u); map++) {
			for (op = 0; op < 256; op++) {
				for (v = 0; v < 16 * 256 * 2; v++) {
					unsigned int r = rnd();

					code[0] = xop ? 0x8f : 0xc4;
					code[1] = (r & 0xe0) | map;
					code[2] = (v >> 8 & 7) | (v >> 11 & 1) << 7;
					code[2] |= v >> 12 ? 0x78 : r >> 8 & 0x78;
					code[3] = op;
					code[4] = v;
					fill(code, 5);
					check(code);
				}
			}
		}
	}
	finish();
}

static void test_evex(void **arg)
{
	unsigned int map, op, v, k;
	u8 code[16];

	(void)arg;
	for (map = 1; map <= 6; map++) {
		for (op = 0; op < 256; op++) {
			for (v = 0; v < 128; v++) {
				for (k = 0; k < 24; k++) {
					unsigned int r = rnd();

					code[0] = 0x62;
					code[1] = (r & 0xf0) | map;
					code[2] = (v & 3) | 4 | (v >> 2 & 1) << 7;
					code[2] |= r >> 16 & 1 ? 0x78 : r >> 17 & 0x78;
					code[3] = (v >> 3 & 7) << 4 | (r >> 8 & 0x8f);
					if (r >> 24 & 1)
						code[3] = (code[3] & 0x70) | 8;
					code[4] = op;
					code[5] = rnd();
					if (v >> 6)
						code[5] |= 0xc0;
					else if (code[5] >= 0xc0)
						code[5] -= 0x40;
					fill(code, 6);
					check(code);
				}
			}
		}
	}
	finish();
}

/* Decoding speed, for information only. */
static void test_speed(void **arg)
{
	static u8 code[4096][16];
	struct timespec a, b;
	struct x86_insn in;
	unsigned int n = 0, k, sum = 0;

	(void)arg;
	while (n < 4096) {
		fill(code[n], 0);
		code[n][0] = (const u8[]){ 0x48, 0x89, 0x8b, 0x0f, 0x83, 0x41 }[rnd() % 6];
		if (x86_decode(&in, code[n], 15) > 0)
			n++;
	}
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (k = 0; k < 500; k++)
		for (n = 0; n < 4096; n++)
			sum += x86_decode(&in, code[n], 15);
	clock_gettime(CLOCK_MONOTONIC, &b);
	print_message("%.1f ns per instruction (%u)\n",
		      ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / (500 * 4096.), sum);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random), cmocka_unit_test(test_legacy),
		cmocka_unit_test(test_vex),    cmocka_unit_test(test_evex),
		cmocka_unit_test(test_speed),
	};

	rnd_state = from_env("ADEPT_TEST_SEED", time(NULL));
	print_message("ADEPT_TEST_SEED=%llu\n", (unsigned long long)rnd_state);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
