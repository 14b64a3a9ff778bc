// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calling contexts in stores that are written word by word: what the programs of the suite stacks
 * do not do.
 */
#include <fcntl.h>
#include <unistd.h>

#include "dep/contexts.h"
#include "fold_store.h"

/* Each is a fragment with one exit. */
enum { MAIN, MAIN_END, HELPER, HELPER_JUMP, HELPER_END, SETS_1, SETS_2, SETS_3, SWITCH, OTHER,
       RECURSIVE, MAIN_HOLDER, MAIN_BACK, HOLDER, HOLDER_REST, STORE, FRAGMENTS };

#define MAIN_PC		0x1000ull
#define HELPER_PC	0x2000ull
#define SETS_PC		0x3000ull
#define SWITCH_PC	0x4000ull
#define OTHER_PC	0x5000ull
#define RECURSIVE_PC	0x6000ull
#define HOLDER_PC	0x7000ull
#define STORE_PC	0x8000ull

static const struct stream_code codes[FRAGMENTS] = {
	/* call HELPER; call SWITCH */
	[MAIN] = FOLD_CODE(MAIN_PC, 0xe8, 0xfb, 0x0f, 0, 0),
	[MAIN_END] = FOLD_CODE(MAIN_PC + 5, 0xe8, 0xf6, 0x2f, 0, 0),
	/* call SETS; jmp rax; ret */
	[HELPER] = FOLD_CODE(HELPER_PC, 0xe8, 0xfb, 0x0f, 0, 0),
	[HELPER_JUMP] = FOLD_CODE(HELPER_PC + 5, 0xff, 0xe0),
	[HELPER_END] = FOLD_CODE(HELPER_PC + 7, 0x90, 0xc3),
	/* push rbp; mov rbp, rsp; jmp; mov rsp, rax; jmp; leave; ret */
	[SETS_1] = FOLD_CODE(SETS_PC, 0x55, 0x48, 0x89, 0xe5, 0xeb, 0),
	[SETS_2] = FOLD_CODE(SETS_PC + 6, 0x48, 0x89, 0xc4, 0xeb, 0),
	[SETS_3] = FOLD_CODE(SETS_PC + 11, 0xc9, 0xc3),
	/* lea rsp, [rax - 8]; ret */
	[SWITCH] = FOLD_CODE(SWITCH_PC, 0x48, 0x8d, 0x60, 0xf8, 0xc3),
	[OTHER] = FOLD_CODE(OTHER_PC, 0x90, 0xff, 0xe0),
	/* call RECURSIVE */
	[RECURSIVE] = FOLD_CODE(RECURSIVE_PC, 0xe8, 0xfb, 0xff, 0xff, 0xff),
	/* call HOLDER; nop; jmp rax */
	[MAIN_HOLDER] = FOLD_CODE(MAIN_PC + 10, 0xe8, 0xf1, 0x5f, 0, 0),
	[MAIN_BACK] = FOLD_CODE(MAIN_PC + 15, 0x90, 0xff, 0xe0),
	/* pop r10; jmp; push r10; ret */
	[HOLDER] = FOLD_CODE(HOLDER_PC, 0x41, 0x5a, 0xeb, 0),
	[HOLDER_REST] = FOLD_CODE(HOLDER_PC + 4, 0x41, 0x52, 0xc3),
	/* mov rax, [rax]; mov [rax], ecx; mov rsp, rbx; jmp rdx */
	[STORE] = FOLD_CODE(STORE_PC, 0x48, 0x8b, 0x00, 0x89, 0x08, 0x48, 0x89, 0xdc, 0xff, 0xe2),
};

static int set_up(void **state)
{
	(void)state;
	fold_set_up(codes, FRAGMENTS);
	return 0;
}

static struct fold_chunk chunk(u64 rsp)
{
	struct fold_chunk c = { .rsp = rsp, .rax = 0x9000 };

	return c;
}

static struct dep_contexts *contexts_of(struct fold_store *f, const struct fold_chunk *c, size_t n,
					u64 memory)
{
	const struct dep_contexts_options options = { .memory = memory };
	struct dep_contexts *out;

	fold_store_write(f, c, n);
	if (dep_contexts_make(f->s, f->code, &options, &out))
		fail_msg("%s", dep_error());
	return out;
}

/* Index of the only context of the function at @pc. */
static size_t context_at(const struct dep_contexts *c, u64 pc)
{
	size_t found = 0, i;

	for (i = 1; i < c->ncontexts; i++) {
		if (c->context[i].pc != pc)
			continue;
		assert_int_equal(found, 0);
		found = i;
	}
	assert_int_not_equal(found, 0);
	return found;
}

/*
 * A function set rsp to another value, and then again to that of its frame, and returned.  The
 * caller's jump within itself is no tail call.
 */
static void jump_behind_a_return(void **state)
{
	struct fold_chunk c = chunk(0x8000);
	struct dep_contexts *out;
	struct fold_store f;
	size_t helper;

	(void)state;
	fold_run(&c, MAIN);
	fold_run(&c, HELPER);
	fold_run(&c, SETS_1);
	fold_run(&c, SETS_2);
	fold_run(&c, SETS_3);
	fold_run(&c, HELPER_JUMP);
	fold_run(&c, HELPER_END);
	out = contexts_of(&f, &c, 1, 0);
	assert_int_equal(out->ncontexts, 4);
	helper = context_at(out, HELPER_PC);
	assert_int_equal(out->context[helper].insns, 4);
	assert_int_equal(out->context[context_at(out, SETS_PC)].parent, helper);
	dep_contexts_free(out);
	fold_store_close(&f);
}

/* A change of stacks that has the same instructions as the end of a function. */
static void change_of_stacks(void **state)
{
	struct fold_chunk c = chunk(0x8000);
	struct dep_contexts *out;
	struct fold_store f;
	size_t other;

	(void)state;
	fold_run(&c, MAIN_END);
	fold_run(&c, SWITCH);
	fold_run(&c, OTHER);
	fold_run(&c, OTHER);
	out = contexts_of(&f, &c, 1, 0);
	other = context_at(out, OTHER_PC);
	assert_int_equal(out->recovered, 1);
	assert_int_equal(out->context[other].parent, context_at(out, SWITCH_PC));
	assert_int_equal(out->context[other].insns, 4);
	dep_contexts_free(out);
	fold_store_close(&f);
}

/*
 * What the recording began in returned, so its stack is known to end there.  The next call has its
 * return address at the same place: it belongs to the caller's stack, also if it is the last one of
 * a segment.
 */
static void return_where_a_stack_ended(void **state)
{
	struct fold_chunk c[2] = { chunk(0x8000), chunk(0x8008) };
	struct dep_contexts *out;
	struct fold_store f;
	size_t caller, i, called = 0;

	(void)state;
	fold_run(&c[0], HELPER_END);
	fold_run(&c[0], MAIN);
	fold_run(&c[0], HELPER_END);
	c[1].seq = 1;
	fold_run(&c[1], MAIN_END);
	out = contexts_of(&f, c, 2, 0);
	assert_int_equal(out->unknown_returns, 1);
	caller = context_at(out, MAIN_PC);
	assert_int_equal(out->context[caller].insns, 2);
	for (i = 1; i < out->ncontexts; i++)
		called += out->context[i].parent == caller;
	assert_int_equal(called, 2);
	dep_contexts_free(out);
	fold_store_close(&f);
}

/* Damage the values at the end of a segment. */
static void damage(const struct fold_store *f, size_t number)
{
	const struct dep_segment *seg;
	char path[176];
	int fd;

	assert_true(dep_store_segments(f->s, &seg) > number);
	snprintf(path, sizeof(path), "%s/" DEP_SEG_NAME, f->dir, seg[number].file);
	fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "x", 1, (off_t)(seg[number].offset +
						    seg[number].stored_bytes - 1)), 1);
	close(fd);
}

/* A segment that cannot be recovered counts once, however often it is needed. */
static void damaged_values(void **state)
{
	struct dep_contexts *out;
	struct fold_chunk c[3];
	struct fold_store f;
	u32 i;

	(void)state;
	for (i = 0; i < 3; i++) {
		c[i] = chunk(0x8000);
		c[i].seq = i;
		if (i == 2)
			break;
		fold_run(&c[i], STORE);
		/* The value of rax. */
		c[i].word[c[i].n++] = 0x12345678;
		c[i].word[c[i].n++] = 0x9abc;
		/* The call's frame needs the first segment again when the last one returns. */
		fold_run(&c[i], i ? HELPER_END : MAIN);
	}
	fold_run(&c[2], HELPER_END);
	fold_store_write(&f, c, 3);
	for (i = 0; i < 2; i++)
		damage(&f, i);
	if (dep_contexts_make(f.s, f.code, NULL, &out))
		fail_msg("%s", dep_error());
	assert_int_equal(out->recovered, 3);
	assert_int_equal(out->loss.segments, 2);
	dep_contexts_free(out);
	fold_store_close(&f);
}

/* A signal interrupts a function whose return address is in a register, as code of V8 does. */
static void signal_without_return_address(void **state)
{
	struct fold_chunk c = chunk(0x8000);
	struct dep_contexts *out;
	struct fold_store f;
	size_t holder;

	(void)state;
	fold_run(&c, MAIN_HOLDER);
	fold_run(&c, HOLDER);
	fold_signal(&c, HOLDER_PC + 4);
	fold_registers(&c, OTHER_PC, 0x7000);
	fold_run(&c, OTHER);
	fold_sigreturn(&c);
	fold_registers(&c, HOLDER_PC + 4, 0x8000);
	/* The thread came to a safe point. */
	fold_registers(&c, HOLDER_PC + 4, 0x8000);
	fold_run(&c, HOLDER_REST);
	fold_run(&c, MAIN_BACK);
	out = contexts_of(&f, &c, 1, 0);
	assert_int_equal(out->unknown_returns, 0);
	holder = context_at(out, HOLDER_PC);
	assert_int_equal(out->context[holder].insns, 4);
	assert_int_equal(out->context[context_at(out, OTHER_PC)].parent, holder);
	assert_int_equal(out->context[context_at(out, MAIN_PC + 10)].insns, 3);
	dep_contexts_free(out);
	fold_store_close(&f);
}

/* A signal interrupts the code that a handler returned to, in front of its sigreturn. */
static void signal_behind_a_handler(void **state)
{
	struct fold_chunk c = chunk(0x8000);
	struct dep_contexts *out;
	struct fold_store f;
	size_t handler;

	(void)state;
	fold_run(&c, OTHER);
	fold_signal(&c, MAIN_PC + 15);
	fold_registers(&c, HELPER_PC + 7, 0x7000);
	fold_run(&c, HELPER_END);
	fold_run(&c, MAIN_BACK);
	fold_signal(&c, MAIN_PC + 15);
	fold_registers(&c, HELPER_PC + 5, 0x6000);
	fold_run(&c, HELPER_JUMP);
	fold_sigreturn(&c);
	fold_registers(&c, MAIN_PC + 15, 0x7008);
	fold_run(&c, MAIN_BACK);
	fold_sigreturn(&c);
	fold_registers(&c, MAIN_PC + 15, 0x8000);
	fold_run(&c, MAIN_BACK);
	out = contexts_of(&f, &c, 1, 0);
	assert_int_equal(out->ncontexts, 4);
	handler = context_at(out, HELPER_PC + 7);
	assert_int_equal(out->context[handler].insns, 6);
	assert_int_equal(out->context[context_at(out, HELPER_PC + 5)].parent, handler);
	assert_int_equal(out->context[context_at(out, OTHER_PC)].insns, 4);
	dep_contexts_free(out);
	fold_store_close(&f);
}

/* A signal interrupts longjmp() between setting rsp and the jump; longjmp() leaves a handler. */
static void signal_in_longjmp(void **state)
{
	struct fold_chunk c = chunk(0x8000);
	struct dep_contexts *out;
	struct fold_store f;

	(void)state;
	fold_run(&c, OTHER);
	fold_signal(&c, MAIN_PC + 15);
	fold_registers(&c, SETS_PC + 6, 0x7000);
	fold_run(&c, SETS_2);
	fold_signal(&c, HELPER_PC + 5);
	fold_registers(&c, HELPER_PC + 7, 0x6000);
	fold_run(&c, HELPER_END);
	fold_sigreturn(&c);
	fold_registers(&c, HELPER_PC + 5, 0x8000);
	fold_run(&c, HELPER_JUMP);
	fold_run(&c, MAIN_BACK);
	out = contexts_of(&f, &c, 1, 0);
	assert_int_equal(out->ncontexts, 4);
	assert_int_equal(out->context[context_at(out, SETS_PC + 6)].insns, 2);
	assert_int_equal(out->context[context_at(out, OTHER_PC)].insns, 5);
	dep_contexts_free(out);
	fold_store_close(&f);
}

/* Calls that do not fit in the tree count for no context. */
static void full_tree(void **state)
{
	struct fold_chunk c = chunk(0x8000);
	struct dep_contexts *out;
	struct fold_store f;
	u64 insns = 0;
	size_t i;

	(void)state;
	for (i = 0; i < 20; i++)
		fold_run(&c, RECURSIVE);
	out = contexts_of(&f, &c, 1, 4096);
	/* The root, the start of the thread, and 14 of 20 calls. */
	assert_int_equal(out->ncontexts, 16);
	assert_int_equal(out->not_counted, 6);
	for (i = 1; i < out->ncontexts; i++) {
		assert_int_equal(out->context[i].calls, 1);
		insns += out->context[i].insns;
	}
	assert_int_equal(insns, 20);
	dep_contexts_free(out);
	fold_store_close(&f);
}

/* A handler whose rsp is 0, while there is no memory for more frames. */
static void no_stack(void **state)
{
	struct fold_chunk c = chunk(0x8000);
	struct dep_contexts *out;
	struct fold_store f;
	u64 insns = 0;
	size_t i;

	(void)state;
	/* 4096 bytes are enough for 32 frames; a thread begins with two. */
	for (i = 0; i < 30; i++)
		fold_run(&c, RECURSIVE);
	fold_signal(&c, RECURSIVE_PC);
	fold_context(&c, RECURSIVE_PC);
	for (i = 0; i < 3; i++)
		fold_run(&c, RECURSIVE);
	out = contexts_of(&f, &c, 1, 4096);
	for (i = 1; i < out->ncontexts; i++)
		insns += out->context[i].insns;
	assert_int_equal(insns, 33);
	assert_true(out->not_counted >= 18);
	dep_contexts_free(out);
	fold_store_close(&f);
}

/* The context of thread 3, which was forked after @forks children that are not recorded. */
static struct dep_context child_of(size_t forks, struct dep_contexts **out)
{
	const struct dep_contexts_options options = { .memory = 4096 };
	struct fold_chunk c = chunk(0x8000), child = chunk(0x8000 - 3 * 8);
	struct dep_context found = { 0 };
	struct fold_store f;
	size_t i;

	/* 4096 bytes are enough for 32 frames: 5 in the stack now, 7 more behind the forks. */
	for (i = 0; i < 3; i++)
		fold_run(&c, RECURSIVE);
	for (i = 0; i < forks; i++)
		fold_fork(&c, 1000);
	fold_fork(&c, FOLD_CHILD);
	for (i = 0; i < 7; i++)
		fold_run(&c, RECURSIVE);
	fold_start(&child);
	fold_run(&child, OTHER);
	fold_store_begin(&f, fold_stream.desc, fold_stream.desc_size);
	fold_store_segment(&f, 1, &c);
	fold_store_segment(&f, 3, &child);
	fold_store_open(&f);
	if (dep_contexts_make(f.s, f.code, &options, out))
		fail_msg("%s", dep_error());
	for (i = 1; i < (*out)->ncontexts; i++)
		if ((*out)->context[i].process == 2 && (*out)->context[i].insns)
			found = (*out)->context[i];
	fold_store_close(&f);
	return found;
}

/* Children that never begin do not take the memory that the stack of their parent needs. */
static void unrecorded_children(void **state)
{
	struct dep_context child;
	struct dep_contexts *out;

	(void)state;
	child = child_of(0, &out);
	assert_int_equal(out->not_counted, 0);
	assert_int_equal(child.kind, DEP_CONTEXT_CALL);
	assert_int_equal(child.incomplete, 0);
	dep_contexts_free(out);
	child = child_of(4, &out);
	assert_int_equal(out->not_counted, 0);
	/* A child that comes too late lacks its parent's callers, and says so. */
	assert_int_equal(child.kind, DEP_CONTEXT_THREAD);
	assert_int_equal(child.incomplete, 1);
	dep_contexts_free(out);
}

/* Behind segments that are not selected a thread begins anew. */
static void segments_not_selected(void **state)
{
	struct fold_chunk c[3] = { chunk(0x8000), chunk(0x7ff0), chunk(0x7ff8) };
	const struct dep_contexts_options options = { .fold = { .from_ns = 1, .to_ns = 1001 } };
	struct dep_contexts *out;
	struct fold_store f;
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++)
		c[i].seq = i;
	/* The clock went backwards. */
	c[1].start_ns = 5000;
	c[2].start_ns = 1000;
	fold_run(&c[0], MAIN);
	fold_run(&c[1], HELPER);
	fold_run(&c[2], OTHER);
	out = contexts_of(&f, c, 3, 0);
	dep_contexts_free(out);
	if (dep_contexts_make(f.s, f.code, &options, &out))
		fail_msg("%s", dep_error());
	i = context_at(out, OTHER_PC);
	assert_int_equal(out->context[i].kind, DEP_CONTEXT_START);
	assert_int_equal(out->context[i].incomplete, 1);
	assert_int_equal(out->context[i].parent, 0);
	dep_contexts_free(out);
	fold_store_close(&f);
}

/* Stacks at positions, in any order; some positions are not in the store. */
static void stacks_at_positions(void **state)
{
	static const struct dep_position at[] = {
		{ .segment = 0, .branches = 100, .pc = SETS_PC },	/* not reached */
		{ .segment = 0, .branches = 2, .pc = SETS_PC + 1 },
		{ .segment = 7, .branches = 0, .pc = MAIN_PC },		/* no such segment */
		{ .segment = 0, .branches = 1, .pc = HELPER_PC },
		{ .segment = 0, .branches = 2 },
		{ .segment = 0, .branches = 0, .pc = MAIN_PC },
		{ .segment = 0, .branches = 0, .signals = 1, .pc = MAIN_PC },
		{ .segment = UINT32_MAX, .branches = UINT32_MAX, .signals = UINT32_MAX },
	};
	static const int frames[] = { -1, 2, -1, 1, 2, 0, -1, -1 };
	static const u64 sites[] = { HELPER_PC, MAIN_PC }, pcs[] = { SETS_PC, HELPER_PC };
	struct fold_chunk c = chunk(0x8000);
	struct dep_call_stacks *out;
	const struct dep_call_stack *x;
	struct fold_store f;
	size_t i, k, depth;

	(void)state;
	fold_run(&c, MAIN);
	fold_run(&c, HELPER);
	fold_run(&c, SETS_1);
	dep_contexts_free(contexts_of(&f, &c, 1, 0));
	if (dep_contexts_at(f.s, f.code, at, sizeof(at) / sizeof(*at), NULL, &out))
		fail_msg("%s", dep_error());
	assert_int_equal(out->n, sizeof(at) / sizeof(*at));
	for (i = 0; i < out->n; i++) {
		x = out->stack + i;
		assert_int_equal(x->found, frames[i] >= 0);
		assert_int_equal(x->n, frames[i] > 0 ? frames[i] : 0);
		/* The store does not have the thread's beginning. */
		assert_int_equal(x->incomplete, x->found);
		for (k = 0; k < x->n; k++) {
			depth = 2 - x->n + k;
			assert_int_equal(x->frame[k].kind, DEP_CONTEXT_CALL);
			assert_int_equal(x->frame[k].site, sites[depth]);
			assert_int_equal(x->frame[k].pc, pcs[depth]);
		}
	}
	dep_call_stacks_free(out);
	if (dep_contexts_at(f.s, f.code, NULL, 0, NULL, &out))
		fail_msg("%s", dep_error());
	assert_int_equal(out->n, 0);
	dep_call_stacks_free(out);
	fold_store_close(&f);
}

#define DEEP_SEGMENTS	10u
#define DEEP_CALLS	100u		/* in each of them */

/* Positions in the same context share one stack, so they do not share the memory for it. */
static void deep_stack_at_many_positions(void **state)
{
	const struct dep_contexts_at_options options = { .memory = 1 << 20 };
	const u32 depth = (DEEP_SEGMENTS - 1) * DEEP_CALLS + DEEP_CALLS / 2;
	struct fold_chunk c[DEEP_SEGMENTS];
	struct dep_position at[200];
	struct dep_call_stacks *out;
	struct fold_store f;
	size_t n = sizeof(at) / sizeof(*at), i, k;

	(void)state;
	for (i = 0; i < DEEP_SEGMENTS; i++) {
		c[i] = chunk(0x8000 - i * DEEP_CALLS * 8);
		c[i].seq = i;
		for (k = 0; k < DEEP_CALLS; k++)
			fold_run(&c[i], RECURSIVE);
	}
	dep_contexts_free(contexts_of(&f, c, DEEP_SEGMENTS, 0));
	for (i = 0; i < n; i++)
		at[i] = (struct dep_position){
			.segment = DEEP_SEGMENTS - 1, .branches = DEEP_CALLS / 2,
		};
	if (dep_contexts_at(f.s, f.code, at, n, &options, &out))
		fail_msg("%s", dep_error());
	for (i = 0; i < n; i++) {
		assert_int_equal(out->stack[i].n, depth);
		assert_ptr_equal(out->stack[i].frame, out->stack[0].frame);
	}
	dep_call_stacks_free(out);
	fold_store_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(jump_behind_a_return, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(change_of_stacks, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(return_where_a_stack_ended, set_up,
						fold_tear_down),
		cmocka_unit_test_setup_teardown(damaged_values, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(signal_without_return_address, set_up,
						fold_tear_down),
		cmocka_unit_test_setup_teardown(signal_behind_a_handler, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(signal_in_longjmp, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(full_tree, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(no_stack, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(unrecorded_children, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(segments_not_selected, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(stacks_at_positions, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(deep_stack_at_many_positions, set_up,
						fold_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
