// SPDX-License-Identifier: GPL-2.0-or-later
/* Callers at an attach, in stores that are written word by word. */
#include "dep/contexts.h"
#include "dep/symbols.h"

#include "fold_store.h"

/* The thread was in INNER, called by MIDDLE, called by OUTER. */
enum { INNER, MIDDLE, OUTER, FRAGMENTS };

#define INNER_PC	0x1000ull
#define MIDDLE_PC	0x2000ull
#define OUTER_PC	0x3000ull
#define CALL_SIZE	5u	/* of each call that was made before the attach */

#define RSP		0x8000ull
#define STACK_SIZE	64u

static const struct stream_code codes[FRAGMENTS] = {
	[INNER] = FOLD_CODE(INNER_PC + 8, 0x90, 0xc3),
	/* What is executed behind the calls. */
	[MIDDLE] = FOLD_CODE(MIDDLE_PC + CALL_SIZE, 0x90, 0xc3),
	[OUTER] = FOLD_CODE(OUTER_PC + CALL_SIZE, 0x90, 0xff, 0xe0),
};

static size_t unwound;

/* Stands for libdep/symbols: the same three functions on each stack, 16 bytes apart. */
size_t dep_symbols_unwind(struct dep_symbols *symbols, uint32_t process, uint64_t time_ns,
			  const struct dep_stack *stack, struct dep_stack_frame *out, size_t max)
{
	const u64 sp = stack->regs[X86_RSP];

	(void)symbols;
	(void)process;
	(void)time_ns;
	assert_true(max >= 3);
	unwound++;
	out[0] = (struct dep_stack_frame){
		.pc = stack->pc, .exact = true, .interrupted = true, .sp = sp,
		.function = INNER_PC,
	};
	out[1] = (struct dep_stack_frame){
		.pc = MIDDLE_PC + CALL_SIZE, .exact = true, .sp = sp + 8, .call = MIDDLE_PC,
		.function = MIDDLE_PC,
	};
	out[2] = (struct dep_stack_frame){
		.pc = OUTER_PC + CALL_SIZE, .sp = sp + 16, .call = OUTER_PC,
		.function = OUTER_PC,
	};
	return 3;
}

static int set_up(void **state)
{
	(void)state;
	unwound = 0;
	fold_set_up(codes, FRAGMENTS);
	return 0;
}

/* All of an attach, or with less than three pieces the beginning of it. */
static struct fold_chunk attached(u32 pieces)
{
	struct fold_chunk c = { .rsp = RSP };

	fold_attach(&c);
	if (pieces > 0)
		fold_stack(&c, RSP, STACK_SIZE / 2);
	if (pieces > 1)
		fold_stack(&c, RSP + STACK_SIZE / 2, STACK_SIZE / 2);
	if (pieces > 2)
		fold_registers(&c, INNER_PC + 8, RSP);
	return c;
}

/* The contexts of threads 1 and, with @other, 2. */
static struct dep_contexts *contexts_of(const struct fold_chunk *c, size_t n,
					const struct fold_chunk *other)
{
	struct dep_contexts_options options = { .symbols = (struct dep_symbols *)&fold_stream };
	struct dep_contexts *out;
	struct fold_store f;
	size_t i;

	fold_store_begin(&f, fold_stream.desc, fold_stream.desc_size);
	for (i = 0; i < n; i++)
		fold_store_segment(&f, 1, &c[i]);
	if (other)
		fold_store_segment(&f, 2, other);
	fold_store_open(&f);
	if (dep_contexts_make(f.s, f.code, &options, &out))
		fail_msg("%s", dep_error());
	fold_store_close(&f);
	return out;
}

/* The functions return to each other, and run in the contexts in which they had been called. */
static void expect_callers(struct dep_contexts *out, u64 calls)
{
	static const u64 pc[] = { OUTER_PC, MIDDLE_PC, INNER_PC };
	const struct dep_context *x = out->context;
	size_t i;

	assert_int_equal(out->ncontexts, 4);
	assert_int_equal(out->unknown_returns, 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(x[i + 1].pc, pc[i]);
		assert_int_equal(x[i + 1].parent, i);
		assert_int_equal(x[i + 1].kind, i ? DEP_CONTEXT_CALL : DEP_CONTEXT_START);
		assert_int_equal(x[i + 1].site, i ? pc[i - 1] : 0);
		assert_int_equal(x[i + 1].calls, calls);
		assert_int_equal(x[i + 1].insns, 2);
		assert_int_equal(x[i + 1].guess, !i);
		assert_int_equal(x[i + 1].incomplete, !i);
	}
	dep_contexts_free(out);
}

static void run_all(struct fold_chunk *c)
{
	fold_run(c, INNER);
	fold_run(c, MIDDLE);
	fold_run(c, OUTER);
}

static void callers(void **state)
{
	struct fold_chunk c = attached(3);

	(void)state;
	run_all(&c);
	expect_callers(contexts_of(&c, 1, NULL), 0);
	assert_int_equal(unwound, 1);
}

/* The attach ends a segment; the code is in the next one. */
static void callers_across_segments(void **state)
{
	struct fold_chunk c[2] = { attached(1), { .seq = 1, .rsp = RSP } };

	(void)state;
	fold_stack(&c[1], RSP + STACK_SIZE / 2, STACK_SIZE / 2);
	fold_registers(&c[1], INNER_PC + 8, RSP);
	run_all(&c[1]);
	expect_callers(contexts_of(c, 2, NULL), 0);
}

/* No stack is unwound: the code that runs is all that is known. */
static void expect_none(struct dep_contexts *out, size_t before)
{
	size_t i;

	assert_int_equal(unwound, before);
	for (i = 1; i < out->ncontexts; i++) {
		assert_int_equal(out->context[i].kind, DEP_CONTEXT_START);
		assert_int_equal(out->context[i].incomplete, 1);
		assert_int_not_equal(out->context[i].insns, 0);
	}
	dep_contexts_free(out);
}

/* A segment is missing between the attach and the code. */
static void gap_behind_attach(void **state)
{
	struct fold_chunk c[2] = { attached(3), { .seq = 2, .rsp = RSP } };

	(void)state;
	fold_run(&c[1], INNER);
	expect_none(contexts_of(c, 2, NULL), 0);
}

/* Thread 1 ends behind its attach: nothing of that belongs to thread 2. */
static void attach_of_another_thread(void **state)
{
	struct fold_chunk c = attached(3), other = { .rsp = RSP };

	(void)state;
	fold_run(&other, INNER);
	expect_none(contexts_of(&c, 1, &other), 0);
}

/* The registers of an earlier attach do not belong to the stack of a later one. */
static void attach_without_registers(void **state)
{
	struct fold_chunk c = attached(3), other = attached(2);
	struct dep_contexts *out;

	(void)state;
	run_all(&c);
	fold_run(&other, INNER);
	out = contexts_of(&c, 1, &other);
	assert_int_equal(unwound, 1);
	assert_int_equal(out->ncontexts, 5);
	dep_contexts_free(out);
}

/* Stacks with a hole, below the stack pointer, or of more bytes than an event has. */
static void forged_stacks(void **state)
{
	static const struct { u64 address; u32 size; } pieces[] = {
		{ RSP + 8, STACK_SIZE }, { RSP - 8, STACK_SIZE }, { RSP, UINT32_MAX },
		{ RSP, ADEPT_STACK_BYTES + 1 }, { RSP, 0 },
	};
	struct fold_chunk c;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		c = attached(0);
		fold_stack(&c, pieces[i].address, pieces[i].size);
		fold_registers(&c, INNER_PC + 8, RSP);
		fold_run(&c, INNER);
		expect_none(contexts_of(&c, 1, NULL), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(callers, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(callers_across_segments, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(gap_behind_attach, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(attach_of_another_thread, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(attach_without_registers, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(forged_stacks, set_up, fold_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
