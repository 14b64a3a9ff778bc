// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions whose code is gone: files that were unmapped, and generated code that was replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libdep/context_check/check.h"

#define GENERATED	(1u << 31)
#define MODULES		3

static struct check *c;
static struct dep_walk *w;

static const struct dep_thread thread = { .serial = 1, .tid = 7, .process = 1 };

static int set_up(void **state)
{
	(void)state;
	c = calloc(1, sizeof(*c));
	w = calloc(1, sizeof(*w));
	assert_non_null(c);
	assert_non_null(w);
	assert_int_equal(dep_cc_encoder_init(&c->encoder), 0);
	assert_int_equal(check_calls_make(c), 0);
	c->walk = w;
	w->thread = &thread;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	check_code_free(c);
	dep_cc_encoder_free(&c->encoder);
	free(c);
	free(w);
	return 0;
}

/* As check_code_make() sets it up. */
static void set_up_code(const struct dep_module *module, u32 *unmapped, size_t n)
{
	c->generation = calloc(8, sizeof(*c->generation));
	c->first = calloc(8, sizeof(*c->first));
	c->version = calloc(8, sizeof(*c->version));
	c->newest = calloc(MODULES + 2, sizeof(*c->newest));
	c->retired = calloc(MODULES + 1, sizeof(*c->retired));
	c->unmapped = calloc(n + 1, sizeof(*c->unmapped));
	assert_true(c->generation && c->first && c->version && c->newest && c->retired &&
		    c->unmapped);
	memcpy(c->unmapped, unmapped, n * sizeof(*unmapped));
	c->module = module;
	c->nmodules = MODULES;
	c->nunmapped = n;
}

static u32 called(u64 pc, u32 generation)
{
	u32 before = c->encoder.graph.nnodes;
	u32 n = dep_cc_graph_node(&c->encoder.graph, pc, generation);

	assert_int_equal(check_code_called(c, n, n == before), 0);
	return n;
}

static bool is_gone(u32 n)
{
	return c->encoder.graph.node[n].gone;
}

static void unmapped_is_gone(void **state)
{
	static const struct dep_module module[MODULES] = {
		{ .process = 1, .from_ns = 1, .to_ns = 20 },
		{ .process = 2, .from_ns = 1, .to_ns = 20 },
		{ .process = 1, .from_ns = 30 },
	};
	struct dep_segment seg[] = { { .start_ns = 10 }, { .start_ns = 20 }, { .start_ns = 25 } };
	struct dep_thread other = { .serial = 2, .process = 1 };
	u32 a, b, elsewhere;

	(void)state;
	set_up_code(module, (u32[]){ 0, 1 }, 2);
	w->segment = seg;
	a = called(0x500, 1);
	b = called(0x510, 1);
	elsewhere = called(0x500, 2);
	check_code_now(c);
	assert_false(is_gone(a) || is_gone(b));
	w->segment = seg + 1;
	check_code_now(c);
	assert_true(is_gone(a) && is_gone(b));
	assert_false(is_gone(elsewhere));
	assert_int_equal(check_code_gone(c), 2);
	/* Another thread was there before, and then comes to that time. */
	w->thread = &other;
	w->segment = seg;
	check_code_now(c);
	assert_int_equal(called(0x500, 1), a);
	assert_true(!is_gone(a) && is_gone(b));
	w->segment = seg + 2;
	check_code_now(c);
	assert_true(is_gone(a) && is_gone(b));
}

static void unmapped_before_a_mapping(void **state)
{
	static const struct dep_module module[MODULES] = {
		{ .process = 1, .from_ns = 1, .to_ns = 20 },
		{ .process = 1, .from_ns = 1, .to_ns = 40 },
		{ .process = 1, .from_ns = 30 },
	};
	u32 a, b;

	(void)state;
	set_up_code(module, (u32[]){ 0, 1 }, 2);
	a = called(0x500, 1);
	b = called(0x600, 2);
	/* A file that was mapped at 30 is called, in the same segment. */
	called(0x500, 3);
	assert_true(is_gone(a));
	assert_false(is_gone(b));
}

static void replaced_is_gone(void **state)
{
	static const struct dep_module module[MODULES];
	u32 a, b, i;

	(void)state;
	set_up_code(module, (u32[]){ 0 }, 0);
	/* Fragments 0 and 1 have different code at one address, and 2 is elsewhere. */
	c->first[2] = 2;
	called(0x600, GENERATED | 2);
	for (i = 0; i < 2 * CHECK_EPOCHS; i++) {
		a = called(0x500, GENERATED);
		assert_int_equal(check_code_gone(c), i > 0);
		b = called(0x500, GENERATED | 1);
		assert_true(is_gone(a) && !is_gone(b));
		assert_int_equal(check_code_gone(c), 1);
	}
}

int main(void)
{
#define TEST(name)	cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(unmapped_is_gone), TEST(unmapped_before_a_mapping), TEST(replaced_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
