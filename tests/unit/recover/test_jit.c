// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Machine code of recovery programs against the interpreter: random operations on random values
 * give the same registers, and the code stops at a reference that is not in the access set.
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

#include "libdep/format/read/store.h"
#include "libdep/recover/jit/jit.h"
#include "libdep/recover/interp/run.h"
#include "tests/unit/lib/joined.h"
#include "tests/unit/lib/random.h"

#define OPS	12u
#define VALUES	8u
#define MOST	4u	/* values of an operation, plus one */

/* Sometimes a value of few bits, for carries and signs. */
static u64 value(void)
{
	u64 v = rnd();

	switch (rnd() % 4) {
	case 0:
		return v >> rnd() % 64;
	case 1:
		return -(v >> rnd() % 64);
	default:
		return v;
	}
}

/* A handwritten program with one exit. */
struct made {
	struct adept_desc_frag d;
	struct dep_program p;
	struct dep_exit_info x;
	struct dep_op op[OPS];
	struct dep_filtered_op filtered[OPS];
	struct x86_dop dop[OPS];
	u64 wide[OPS];
};

static u8 reg(void)
{
	return rnd() % 16;
}

static struct x86_dop derivation(void)
{
	static const u8 sizes[] = { 1, 2, 4, 8 };
	struct x86_dop d = {
		.code = rnd() % (X86_D_XCHG + 1), .size = sizes[rnd() % 4], .dst = reg(),
		.src = reg(), .src2 = X86_NONE, .scale = 1u << rnd() % 4, .imm = (s32)value(),
	};

	d.srcsize = d.size;
	if (d.code == X86_D_SEXT || d.code == X86_D_ZEXT)
		d.srcsize = sizes[rnd() % 3];
	if (d.code == X86_D_LEA && rnd() % 4 == 0)
		d.src = X86_NONE;
	if (d.code >= X86_D_ADD && rnd() % 2)
		d.src2 = reg();
	if (d.size == 1 && rnd() % 4 == 0)
		d.dst_high = 1;
	if (d.srcsize == 1 && rnd() % 4 == 0)
		d.src_high = 1;
	if (d.code == X86_D_CONST && rnd() % 2)
		d.imm = (s64)rnd();
	return d;
}

static void operation(struct made *m, u32 i)
{
	static const u8 codes[] = { DEP_O_LOAD, DEP_O_SKIP, DEP_O_CONST, DEP_O_NEAR, DEP_O_WIDE,
				    DEP_O_BASE, DEP_O_ADD, DEP_O_LEA, DEP_O_LOW8, DEP_O_KREG,
				    DEP_O_VEC, DEP_O_DERIVE, DEP_O_DERIVE, DEP_O_DERIVE };
	struct dep_op *op = &m->op[i];

	*op = (struct dep_op){
		.code = codes[rnd() % sizeof(codes)], .dst = reg(), .src = reg(), .src2 = reg(),
		.shift = rnd() % 4, .imm = (s32)value(),
	};
	if (op->code == DEP_O_WIDE || op->code == DEP_O_BASE) {
		m->wide[i] = value();
		op->imm = (s32)i;
		m->p.rebased |= op->code == DEP_O_BASE;
	}
	if (op->code == DEP_O_DERIVE) {
		m->dop[i] = derivation();
		op->imm = (s32)i;
		op->size = 1;
	}
	if (op->code == DEP_O_SKIP || op->code == DEP_O_VEC)
		op->imm = (s32)(rnd() % MOST);
	if (op->code == DEP_O_LOAD || op->code == DEP_O_KREG)
		m->x.words++;
	else if (op->code == DEP_O_SKIP || op->code == DEP_O_VEC)
		m->x.words += (u16)op->imm;
	m->filtered[i] = (struct dep_filtered_op){ .code = op->code, .of = (u16)i };
}

static void begin(struct made *m, u32 id)
{
	memset(m, 0, sizeof(*m));
	m->d.first_exit = id;
	m->d.nexits = 1;
	m->p.d = &m->d;
	m->p.exit = &m->x;
	m->p.op = m->op;
	m->p.filtered = m->filtered;
	m->p.dop = m->dop;
	m->p.wide = m->wide;
	m->p.base = value();
	m->x.program = &m->p;
	m->x.known = 0xffff;
	m->x.count.writes = 1;
	m->x.count.refs = 3;
	m->x.ninsns = 5;
}

static void end(struct made *m, u32 nops)
{
	m->p.nops = m->x.op_end = m->x.filtered_end = (u16)nops;
}

struct bench {
	struct dep_store store;
	struct dep_process_filter scope;
	struct dep_word_set locked, spin_words;
	struct dep_filter filter;
	struct dep_interp r;
	u64 values[OPS * VALUES];
};

static u8 the_programs(void *arg, u32 process, u64 pc)
{
	(void)arg;
	(void)process;
	(void)pc;
	return 0;
}

static void set_up(struct bench *b, const bool *plain)
{
	u32 i;

	memset(b, 0, sizeof(*b));
	dep_word_set_init(&b->locked);
	dep_word_set_init(&b->spin_words);
	b->scope = (struct dep_process_filter){
		.code = the_programs, .locked = &b->locked, .spin_words = &b->spin_words,
	};
	assert_int_equal(dep_filter_init(&b->filter, &b->scope, 1), 0);
	b->r.filter = &b->filter;
	b->r.jit = *plain ? dep_jit_lookup(&b->store) : dep_jit_of(&b->store);
	assert_non_null(b->r.jit);
	b->r.known = 0xffff;
	for (i = 0; i < OPS * VALUES; i++)
		b->values[i] = value();
}

static void tear_down(struct bench *b)
{
	b->store.jit_free(b->store.jit);
	dep_filter_free(&b->filter);
	dep_word_set_free(&b->locked);
	dep_word_set_free(&b->spin_words);
}

static bool compile(struct bench *b, struct made *m)
{
	u32 i;

	for (i = 0; i < DEP_JIT_RUNS; i++) {
		assert_false(dep_jit_has(b->r.jit, m->d.first_exit));
		dep_jit_ran(b->r.jit, &m->p, &m->x);
	}
	return dep_jit_has(b->r.jit, m->d.first_exit);
}

/* Run @n records; return the remaining items of the last one. */
static u32 run(struct bench *b, const struct made *m, u32 n)
{
	u32 control[8], i;
	const u32 *at = control;

	for (i = 0; i < n; i++)
		control[i] = m->d.first_exit;
	b->r.value = b->values;
	memset(&b->r.counts, 0, sizeof(b->r.counts));
	return dep_jit_run(&b->r, &at, control + n, b->values + OPS * VALUES);
}

/* Machine code replaces the differences by values of vectors. */
static void same_vectors(const struct bench *b, const struct made *m, u32 done, const u64 *sums)
{
	u32 i, k, word = 0;

	for (i = 0; i < done; i++) {
		const struct dep_op *op = &m->op[i];

		if (op->code == DEP_O_VEC)
			for (k = 0; k < (u32)op->imm; k++)
				assert_true(b->values[word + k] == sums[word + k]);
		if (op->code == DEP_O_VEC || op->code == DEP_O_SKIP)
			word += (u32)op->imm;
		else
			word += op->code == DEP_O_LOAD || op->code == DEP_O_KREG;
	}
}

static void same_as_interpreted(void **plain)
{
	u64 n = from_env("ADEPT_TEST_COUNT", 20000), from[DEP_SLOTS], native[DEP_SLOTS], kreg;
	u64 last[OPS * MOST], sums[OPS * MOST], values[OPS * MOST], *lately;
	static struct bench b;
	struct made m;
	u32 i, k, left, whole = 0, nops, done, words;

	rnd_state = from_env("ADEPT_TEST_SEED", (u64)time(NULL));
	printf("seed %llu\n", (unsigned long long)rnd_state);
	set_up(&b, *plain);
	for (k = 0; k < n; k++) {
		begin(&m, 1000 + k);
		nops = 1 + rnd() % OPS;
		for (i = 0; i < nops; i++)
			operation(&m, i);
		end(&m, nops);
		for (i = 0; i < 16; i++)
			b.r.slot[i] = value();
		memcpy(from, b.r.slot, sizeof(from));
		lately = b.r.last + dep_delta_slot(1000 + k);
		memcpy(last, lately, sizeof(last));
		memcpy(values, b.values, sizeof(values));
		if (!compile(&b, &m))
			continue;
		left = run(&b, &m, 1);
		assert_int_equal(b.r.state.ran, 1);
		assert_int_equal(b.r.counts.refs, 3);
		assert_int_equal(b.r.counts.writes, 1);
		assert_int_equal(b.r.counts.instructions, 5);
		assert_int_equal(b.r.counts.values_used, m.x.words);
		memcpy(native, b.r.slot, sizeof(native));
		kreg = b.r.kreg;
		done = left ? dep_jit_op(left) : nops;
		words = left ? dep_jit_words(left) : m.x.words;
		whole += !left;
		/* Run the same in the interpreter, as far as the code went. */
		memcpy(b.r.slot, from, sizeof(from));
		for (i = 0; i < OPS * MOST; i++) {
			sums[i] = values[i] + last[i];
			assert_true(lately[i] == (i < words ? sums[i] : last[i]));
		}
		b.r.value = sums;
		assert_int_equal(dep_interp_ops(&b.r, &m.p, 0, done, 0), 0);
		assert_int_equal(b.r.value - sums, words);
		assert_memory_equal(native, b.r.slot, sizeof(native));
		assert_true(kreg == b.r.kreg);
		same_vectors(&b, &m, done, sums);
		memcpy(b.values, values, sizeof(values));
	}
	assert_true(whole > n / 3);
	tear_down(&b);
}

static void one_ref(struct made *m, u32 i, s32 imm, u32 size, u32 type)
{
	m->op[i] = (struct dep_op){ .code = DEP_O_REF1, .src = X86_RDI, .imm = imm,
				    .size = (u16)size, .type = (u8)type & 3 };
	m->filtered[i] = (struct dep_filtered_op){ .code = DEP_O_REF1, .src = X86_RDI, .of = (u16)i,
					   .imm = imm, .size = (u8)size,
					   .write = !!(type & DEP_WRITE) };
}

static void note(struct bench *b, u64 addr, u32 size, bool write)
{
	const struct dep_filter_access a = { .addr = addr, .size = size, .write = write };

	dep_access_set_add(&b->filter.seen, &a);
}

static void references(void **plain)
{
	const u64 at = 0x7f0000001ff0;
	static struct bench b;
	struct taken taken = { .any = false };
	struct dep_ref r;
	bool joined;
	struct made m;
	u32 left;

	set_up(&b, *plain);
	b.filter.who[0] = DEP_FILTER_PROGRAM;
	b.filter.tag[0] = dep_access_set_tag(&b.filter.seen, DEP_FILTER_PROGRAM);
	b.r.slot[X86_RDI] = at;
	begin(&m, 1000);
	one_ref(&m, 0, 8, 4, DEP_READ);
	one_ref(&m, 1, 0, 8, DEP_WRITE);
	one_ref(&m, 2, 0x1000, 8, DEP_READ);
	end(&m, 3);
	assert_true(compile(&b, &m));
	/* The access set is empty: the first two references are merged. */
	left = run(&b, &m, 3);
	assert_int_equal(b.r.state.ran, 1);
	assert_int_equal(dep_jit_op(left), 0);
	note(&b, at, 12, true);
	left = run(&b, &m, 3);
	assert_int_equal(dep_jit_op(left), 2);
	note(&b, at + 0x1000, 8, false);
	assert_int_equal(run(&b, &m, 3), 0);
	assert_int_equal(b.r.state.ran, 3);
	assert_int_equal(b.r.counts.refs, 9);
	/* a read does not cover a write, and nothing is known beyond the page */
	b.r.slot[X86_RDI] = at + 0x100;
	note(&b, at + 0x100, 12, false);
	note(&b, at + 0x1100, 8, false);
	assert_int_equal(dep_jit_op(run(&b, &m, 3)), 0);
	b.r.slot[X86_RDI] = at + 12;
	note(&b, at, 0x2000, true);
	assert_int_equal(dep_jit_op(run(&b, &m, 3)), 0);
	/* References that can be deferred do not stop it. */
	b.filter.singly = DEP_FILTER_SINGLY;
	b.r.slot[X86_RDI] = at + 0x10000;
	assert_int_equal(run(&b, &m, 2), 0);
	assert_true(take_run(&taken, &b.filter, &r, true, &joined));
	assert_true(joined && r.addr == at + 0x11000 && r.size == 8 && r.type == DEP_READ);
	assert_true(take_run(&taken, &b.filter, &r, true, &joined));
	assert_true(r.addr == at + 0x10000 && r.size == 8);
	/* nor does one that orders */
	dep_word_set_add(&b.locked, at + 0x20000, 4);
	b.r.slot[X86_RDI] = at + 0x20000;
	assert_int_equal(dep_jit_op(run(&b, &m, 2)), 0);
	/* In a new interval the access set is empty. */
	dep_filter_new_interval(&b.filter);
	b.r.slot[X86_RDI] = at;
	assert_int_equal(dep_jit_op(run(&b, &m, 3)), 0);
	tear_down(&b);
}

/* If it cannot continue, it stops before the record. */
static void ends(void **plain)
{
	static struct bench b;
	u32 control[4] = { 1000, 1001, 7, 1000 };
	const u32 *at = control;
	struct made m, other;

	set_up(&b, *plain);
	begin(&m, 1000);
	m.op[0] = (struct dep_op){ .code = DEP_O_LOAD, .dst = X86_RAX };
	m.filtered[0] = (struct dep_filtered_op){ .code = DEP_O_LOAD, .dst = X86_RAX };
	m.x.words = 1;
	end(&m, 1);
	assert_true(compile(&b, &m));
	other = m;
	other.d.first_exit = 1001;
	other.p.d = &other.d;
	other.p.exit = &other.x;
	other.p.entry_mask = X86_BIT(X86_RCX);
	other.x.runs = 0;
	assert_true(compile(&b, &other));
	/* There is no code for the third one. */
	b.r.value = b.values;
	assert_int_equal(dep_jit_run(&b.r, &at, control + 4, b.values + 4), 0);
	assert_int_equal(b.r.state.ran, 2);
	assert_ptr_equal(at, control + 2);
	assert_ptr_equal(b.r.value, b.values + 2);
	assert_true(b.r.slot[X86_RAX] == b.values[1]);
	/* values, or registers, are missing */
	at = control;
	b.r.value = b.values;
	assert_int_equal(dep_jit_run(&b.r, &at, control + 4, b.values + 1), 0);
	assert_int_equal(b.r.state.ran, 1);
	assert_ptr_equal(at, control + 1);
	at = control + 1;
	b.r.known = (u16)~X86_BIT(X86_RCX);
	b.r.value = b.values;
	assert_int_equal(dep_jit_run(&b.r, &at, control + 4, b.values + 4), 0);
	assert_int_equal(b.r.state.ran, 0);
	assert_ptr_equal(at, control + 1);
	tear_down(&b);
}

/* Records without a write are counted, and the loop is left after the maximum. */
static void quiet(void **plain)
{
	static struct bench b;
	struct made m;
	u32 i;

	set_up(&b, *plain);
	begin(&m, 1000);
	m.op[0] = (struct dep_op){ .code = DEP_O_CONST, .dst = X86_RAX, .imm = 1 };
	m.filtered[0] = (struct dep_filtered_op){ .code = DEP_O_CONST, .dst = X86_RAX };
	m.x.count.writes = 0;
	end(&m, 1);
	assert_true(compile(&b, &m));
	b.filter.quiet = DEP_FILTER_QUIET;
	assert_int_equal(run(&b, &m, 8), 0);
	assert_int_equal(b.r.state.ran, DEP_FILTER_SPINS - 1);
	assert_int_equal(b.filter.quiet, -1);
	for (i = 0; i < 3; i++) {
		assert_int_equal(run(&b, &m, 8), 0);
		assert_int_equal(b.r.state.ran, 0);
		assert_int_equal(b.filter.quiet, -1);
	}
	tear_down(&b);
}

int main(void)
{
	/* With the instructions of this processor, and with the baseline. */
	static bool plain[2] = { false, true };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(same_as_interpreted, &plain[0]),
		cmocka_unit_test_prestate(same_as_interpreted, &plain[1]),
		cmocka_unit_test_prestate(references, &plain[0]),
		cmocka_unit_test_prestate(references, &plain[1]),
		cmocka_unit_test_prestate(ends, &plain[0]),
		cmocka_unit_test_prestate(ends, &plain[1]),
		cmocka_unit_test_prestate(quiet, &plain[0]),
		cmocka_unit_test_prestate(quiet, &plain[1]),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
