// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The check of encoded contexts finds what is wrong: a made-up walk calls its hooks, and then a
 * state, a record, a plain stack or a frame is changed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libdep/context_check/check.h"

#define FRAMES 64
#define SITE 0x1000000u		/* a call site is its caller's address and this */

static struct check *c;
static struct dep_walk *w;
static struct dep_context_check out;
static struct dep_context_check_options options;
static struct dep_strand strand, handler, thread_strand;
static char why[128];

static const struct dep_thread thread = { .serial = 1, .tid = 7, .process = 1 };

static void mismatch(void *arg, const struct dep_context_mismatch *m)
{
	(void)arg;
	snprintf(why, sizeof(why), "%s", m->why);
}

static u32 node(u32 parent, u8 kind, u64 site, u64 pc)
{
	struct dep_node *n = w->tree.node + w->tree.n;

	*n = (struct dep_node){ .parent = parent, .kind = kind, .site = site, .pc = pc };
	return w->tree.n++;
}

static void begin_strand(struct dep_strand *s, u32 ctx)
{
	*s = (struct dep_strand){ .n = 2, .room = FRAMES };
	s->frame = calloc(FRAMES, sizeof(*s->frame));
	assert_non_null(s->frame);
	s->frame[0].ctx = s->frame[1].ctx = ctx;
	w->at = s;
	w->ctx = ctx;
}

static int set_up(void **state)
{
	(void)state;
	c = calloc(1, sizeof(*c));
	w = calloc(1, sizeof(*w));
	assert_non_null(c);
	assert_non_null(w);
	assert_int_equal(dep_cc_encoder_init(&c->encoder), 0);
	assert_int_equal(check_calls_make(c), 0);
	out = (struct dep_context_check){ 0 };
	options = (struct dep_context_check_options){ .every = 1, .mismatch = mismatch };
	*why = 0;
	c->options = &options;
	c->out = &out;
	c->walk = w;
	c->next = 1;
	c->chain.max = 1000000;
	w->max_frames = 100000;
	w->thread = &thread;
	w->tree.node = calloc(4096, sizeof(*w->tree.node));
	assert_non_null(w->tree.node);
	w->tree.n = 1;
	begin_strand(&strand, node(0, DEP_CONTEXT_START, 0, 0x100));
	handler.frame = thread_strand.frame = NULL;
	return 0;
}

static int tear_down(void **state)
{
	size_t i;

	(void)state;
	c->err = -ECANCELED;
	check_late(c, UINT32_MAX);
	check_hooks.gone(c, &strand);
	if (handler.frame)
		check_hooks.gone(c, &handler);
	free(strand.frame);
	free(handler.frame);
	if (thread_strand.frame)
		check_hooks.gone(c, &thread_strand);
	free(thread_strand.frame);
	check_hooks.begins(c, NULL, false);
	/* No origin is left. */
	assert_int_equal(c->functions, 0);
	for (i = 0; i < c->npins; i++)
		assert_int_equal(c->pins[i], 0);
	free(c->pins);
	free(w->tree.node);
	dep_cc_encoder_free(&c->encoder);
	dep_cc_chain_free(&c->chain);
	free(c->call);
	free(c);
	free(w);
	return 0;
}

static struct dep_activation *top(void)
{
	return w->at->frame + w->at->n - 1;
}

static void call(u64 pc)
{
	u64 site = SITE + w->tree.node[top()->ctx].pc;
	const struct dep_branch_step step = {
		.pc = site, .next = site + 5, .branch = DEP_BRANCH_CALL,
	};
	const struct dep_branch_at b = { .step = &step, .to = pc, .to_fragment = -1 };
	struct dep_activation f = { .ret = site + 5 };

	assert_int_equal(check_hooks.call(c, &b), 0);
	f.ctx = node(top()->ctx, DEP_CONTEXT_CALL, site, pc);
	assert_true(w->at->n < FRAMES);
	w->at->frame[w->at->n++] = f;
}

static void tail(u64 pc)
{
	u64 site = SITE + w->tree.node[top()->ctx].pc;
	const struct dep_branch_step step = { .pc = site, .branch = DEP_BRANCH_JUMP };
	const struct dep_branch_at b = { .step = &step, .to = pc, .to_fragment = -1 };

	assert_int_equal(check_hooks.tail(c, &b), 0);
	top()->ctx = node(top()->ctx, DEP_CONTEXT_TAIL, site, pc);
}

static void ret(void)
{
	check_hooks.returns(c);
	w->at->n--;
}

/* Frames end without a return. */
static void leave(size_t n)
{
	w->at->n -= n;
}

static void signal_handler(u64 pc)
{
	struct dep_strand *interrupted = w->at;

	w->signal_pc = SITE + 1;
	begin_strand(&handler, node(top()->ctx, DEP_CONTEXT_SIGNAL, SITE + 1, pc));
	handler.below = interrupted;
	handler.handler = true;
	assert_int_equal(check_hooks.handler(c, interrupted), 0);
}

static struct check_stack *stack(void)
{
	struct check_level *l = strand.hooked;

	assert_non_null(l);
	return l->stack;
}

static void encode(void)
{
	assert_int_equal(dep_cc_encoder_encode(&c->encoder), 0);
	check_encoded(c);
}

static void assert_right(void)
{
	if (*why)
		fail_msg("%s", why);
	assert_int_equal(out.mismatches, 0);
	assert_int_equal(out.checked, out.calls);
	assert_true(out.calls > 0);
}

static void assert_wrong(const char *what)
{
	assert_int_equal(out.mismatches, 1);
	assert_string_equal(why, what);
	/* The stack is begun anew: one error is one mismatch. */
	call(0x900);
	call(0x901);
	assert_int_equal(out.mismatches, 1);
}

/* ---- what is right ---- */

static void some_calls(void)
{
	call(0x200);
	call(0x300);
	tail(0x400);
	call(0x500);
	ret();
	tail(0x300);
	ret();
	call(0x400);
	call(0x200);
	call(0x200);
	ret();
}

static void right_stacks(void **state)
{
	(void)state;
	some_calls();
	encode();
	some_calls();
	leave(4);
	call(0x300);
	assert_right();
	assert_true(out.calls > 16);
}

static void right_handlers(void **state)
{
	(void)state;
	call(0x200);
	signal_handler(0x600);
	call(0x200);
	call(0x700);
	check_hooks.sigreturn(c);
	check_hooks.gone(c, &handler);
	free(handler.frame);
	handler.frame = NULL;
	w->at = &strand;
	call(0x300);
	assert_right();
	/* longjmp leaves the handler, and a frame of the stack that it interrupted */
	signal_handler(0x600);
	call(0x700);
	w->at = &strand;
	leave(1);
	call(0x500);
	assert_right();
}

static void right_records_later(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < CHECK_HISTORY + 8; i++) {
		call(0x200 + 0x100 * (i % 3));
		encode();
		call(0x500);
		ret();
		leave(1);
	}
	assert_right();
	assert_true(out.late > 0);
	assert_int_equal(c->oldest, 9);
}

/* The function at work creates a thread, which begins with @pc. */
static struct check_origin *create(u64 pc, bool copied)
{
	struct check_origin *o = check_hooks.forked(c);
	u32 creator = top()->ctx;

	assert_non_null(o);
	check_hooks.begins(c, o, copied);
	if (thread_strand.frame)
		check_hooks.gone(c, &thread_strand);
	free(thread_strand.frame);
	begin_strand(&thread_strand, node(creator, DEP_CONTEXT_THREAD, SITE, pc));
	return o;
}

static void right_creators(void **state)
{
	struct check_origin *o;

	(void)state;
	some_calls();
	o = create(0x700, false);
	assert_int_equal(o->n, 4);
	call(0x200);
	call(0x710);
	encode();
	call(0x300);
	assert_right();
	assert_int_equal(out.created, 1);
	/* The creator goes on, and its dictionary is not dropped. */
	w->at = &strand;
	leave(2);
	for (u32 i = 0; i < CHECK_HISTORY + 8; i++) {
		call(0x200 + 0x100 * (i % 3));
		encode();
		ret();
	}
	w->at = &thread_strand;
	tail(0x800);
	/* A thread of the thread. */
	o = create(0x900, false);
	assert_non_null(o->parent);
	call(0x300);
	assert_right();
	assert_int_equal(out.created, 2);
	assert_int_equal(out.stacks, 3);
	/* A child of fork has frames of its own: its creator is that of its parent. */
	o = c->origin;
	create(0x900, true);
	assert_ptr_equal(c->origin, o);
	call(0x300);
	assert_right();
	assert_int_equal(out.created, 3);
	/* A thread that does not begin. */
	check_hooks.unforked(c, check_hooks.forked(c));
}

/* ---- what was compared ---- */

static void counts_compared(void **state)
{
	(void)state;
	call(0x200);
	/* The stack has just begun: its first function is checked, but has no frames to compare. */
	assert_int_equal(out.not_compared, 1);
	assert_int_equal(out.compared, 1);
	call(0x300);
	signal_handler(0x600);
	call(0x700);
	assert_right();
	assert_int_equal(out.compared, 4);
	assert_int_equal(out.not_compared, 1);
	assert_int_equal(out.stacks, 1);
	assert_int_equal(out.unknown_callers, 0);
}

static void counts_what_does_not_fit(void **state)
{
	(void)state;
	w->tree.not_counted = 1;
	call(0x200);
	call(0x300);
	assert_right();
	assert_int_equal(out.compared, 0);
	assert_int_equal(out.not_compared, out.checked);
}

static void counts_unknown_callers(void **state)
{
	(void)state;
	w->tree.node[strand.frame[1].ctx].incomplete = true;
	call(0x200);
	assert_right();
	assert_int_equal(out.stacks, 1);
	assert_int_equal(out.unknown_callers, 1);
}

static void first_is_checked(void **state)
{
	(void)state;
	options.every = 1000;
	some_calls();
	assert_int_equal(out.mismatches, 0);
	assert_int_equal(out.compared, 1);
	assert_true(out.checked < 3);
	/* None is without the option. */
	options.every = 0;
	out.compared = out.checked = 0;
	c->next = UINT64_MAX;
	some_calls();
	assert_int_equal(out.checked, 0);
}

/* ---- what is wrong ---- */

static void wrong_id(void **state)
{
	(void)state;
	some_calls();
	leave(3);
	encode();
	call(0x300);
	stack()->encoded.state.id++;
	call(0x200);
	assert_true(out.mismatches > 0);
}

static void wrong_site_of_entry(void **state)
{
	(void)state;
	call(0x200);
	stack()->encoded.state.entry[stack()->encoded.state.n - 1].site++;
	call(0x300);
	assert_wrong("the decoded context has another call site");
}

static void wrong_function_of_entry(void **state)
{
	struct dep_cc_state *st;

	(void)state;
	call(0x200);
	call(0x300);
	st = &stack()->encoded.state;
	/* An entry names the function that it calls, and the one above it that calls on. */
	st->entry[st->n - 1].target = st->entry[st->n - 2].target;
	st->function = st->entry[st->n - 1].target;
	call(0x400);
	assert_wrong("the decoded context has another function");
}

static void wrong_kind(void **state)
{
	(void)state;
	call(0x200);
	stack()->encoded.state.entry[stack()->encoded.state.n - 1].kind = DEP_CC_INDIRECT;
	call(0x300);
	assert_wrong("the decoded context has another kind of call");
}

static void wrong_return(void **state)
{
	struct dep_cc_state *st;

	(void)state;
	call(0x200);
	call(0x300);
	st = &stack()->encoded.state;
	st->entry[st->n - 1].caller = st->entry[0].target;
	ret();
	assert_wrong("the encoder returned to another function");
}

static void wrong_unwind(void **state)
{
	(void)state;
	call(0x200);
	call(0x300);
	call(0x400);
	leave(2);
	/* The function that goes on has another number. */
	stack()->function[1].node = stack()->function[2].node;
	call(0x500);
	assert_wrong("the encoder did not find the function that goes on");
}

static void wrong_frame(void **state)
{
	(void)state;
	call(0x200);
	call(0x300);
	w->tree.node[strand.frame[2].ctx].pc++;
	call(0x400);
	assert_wrong("the calls do not lead to the frames");
}

static void wrong_site_of_frame(void **state)
{
	(void)state;
	call(0x200);
	call(0x300);
	w->tree.node[strand.frame[3].ctx].site++;
	call(0x400);
	assert_wrong("the calls do not lead to the frames");
}

static void wrong_tail_chain(void **state)
{
	(void)state;
	call(0x200);
	tail(0x300);
	tail(0x400);
	/* A loop that was not erased, and one function less. */
	stack()->function[stack()->n - 2] = stack()->function[stack()->n - 1];
	stack()->n--;
	c->functions--;
	call(0x500);
	assert_int_equal(out.mismatches, 1);
}

static void wrong_frames_missing(void **state)
{
	(void)state;
	call(0x200);
	strand.frame[strand.n] = strand.frame[strand.n - 1];
	strand.n++;
	call(0x300);
	assert_wrong("frames are missing");
}

static void wrong_record_later(void **state)
{
	u32 i;

	(void)state;
	call(0x200);
	for (i = 0; i < CHECK_KEPT && !c->kept[i].used; i++)
		;
	assert_true(i < CHECK_KEPT);
	c->kept[i].record.entry[c->kept[i].record.n - 1].site++;
	encode();
	check_late(c, c->encoder.history.n);
	assert_int_equal(out.mismatches, 1);
	assert_string_equal(why, "a record decodes to another context after later encodings");
}

static void wrong_creator(void **state)
{
	struct check_origin *o;

	(void)state;
	call(0x200);
	call(0x300);
	o = create(0x700, false);
	o->function[1].site++;
	call(0x200);
	assert_wrong("the decoded context has another call site");
}

static void wrong_creator_lengths(void **state)
{
	struct check_origin *o;

	(void)state;
	call(0x200);
	call(0x300);
	o = create(0x700, false);
	o->n--;
	c->functions--;
	memmove(o->function, o->function + 1, o->n * sizeof(*o->function));
	call(0x200);
	assert_wrong("the decoded context of the creator has more functions");
}

static void wrong_creator_lost(void **state)
{
	struct dep_cc_state *st;

	(void)state;
	call(0x200);
	create(0x700, false);
	call(0x200);
	st = &((struct check_level *)thread_strand.hooked)->stack->encoded.state;
	dep_cc_origin_put(st->origin);
	st->origin = NULL;
	encode();
	call(0x300);
	assert_wrong("the creator of the thread is lost");
}

static void wrong_lengths(void **state)
{
	struct check_stack *s;

	(void)state;
	call(0x200);
	s = stack();
	assert_int_equal(dep_cc_state_chain(&s->encoded.state, &c->chain), 0);
	assert_null(check_same(&c->chain, s));
	c->chain.n--;
	assert_string_equal(check_same(&c->chain, s),
			    "the decoded context has another number of functions");
	c->chain.n++;
	c->chain.frame[0].function = UINT32_MAX;
	assert_non_null(check_same(&c->chain, s));
}

static void memory_is_bounded(void **state)
{
	const struct dep_branch_step step = { .pc = SITE, .branch = DEP_BRANCH_JUMP };
	struct dep_branch_at b = { .step = &step, .to_fragment = -1 };
	int err = 0;
	u64 i;

	(void)state;
	w->max_frames = 1000;
	options.every = 1000000;
	c->next = UINT64_MAX;
	/* A chain of tail calls without a loop. */
	for (i = 0; i < 100000 && !err; i++) {
		b.to = 0x10000 + i;
		err = check_hooks.tail(c, &b);
	}
	assert_int_equal(err, -E2BIG);
	assert_true(c->functions <= 2 * w->max_frames + 1024);
}

int main(void)
{
#define TEST(name)	cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(right_stacks), TEST(right_handlers), TEST(right_records_later),
		TEST(right_creators), TEST(wrong_creator), TEST(wrong_creator_lengths),
		TEST(wrong_creator_lost), TEST(counts_compared), TEST(counts_what_does_not_fit),
		TEST(counts_unknown_callers), TEST(first_is_checked),
		TEST(wrong_id), TEST(wrong_site_of_entry), TEST(wrong_function_of_entry),
		TEST(wrong_kind), TEST(wrong_return), TEST(wrong_unwind), TEST(wrong_frame),
		TEST(wrong_site_of_frame), TEST(wrong_tail_chain), TEST(wrong_frames_missing),
		TEST(wrong_record_later), TEST(wrong_lengths), TEST(memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
