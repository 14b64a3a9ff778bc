// SPDX-License-Identifier: GPL-2.0-or-later
/* Which references the filter of one thread drops and defers, and what begins an interval. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "libdep/recover/program/program.h"
#include "filter_calls.h"

static void first_ones(void **unused)
{
	const u8 me = DEP_CODE_PROGRAM;
	struct one o;
	u64 i;

	(void)unused;
	begin_one(&o, false);
	assert_true(shows(&o, me, BASE, 4, DEP_READ));
	assert_false(shows(&o, me, BASE, 4, DEP_READ));
	assert_false(shows(&o, me, BASE + 1, 2, DEP_READ));
	assert_true(shows(&o, me, BASE, 8, DEP_READ));
	/* a read does not cover a write; a write covers both */
	assert_true(shows(&o, me, BASE, 4, DEP_WRITE));
	assert_false(shows(&o, me, BASE, 4, DEP_WRITE));
	assert_false(shows(&o, me, BASE, 4, DEP_MODIFY));
	assert_true(shows(&o, me, BASE + 16, 1, DEP_MODIFY));
	assert_false(shows(&o, me, BASE + 16, 1, DEP_READ));
	/* across word boundaries, and many words */
	assert_true(shows(&o, me, BASE + 6, 4, DEP_READ));
	assert_false(shows(&o, me, BASE + 6, 4, DEP_READ));
	assert_true(shows(&o, me, BASE + 64, 32, DEP_WRITE));
	assert_false(shows(&o, me, BASE + 65, 30, DEP_READ));
	assert_true(shows(&o, me, BASE + 65, 32, DEP_READ));
	/* each origin has its own set, with some in common */
	assert_true(shows(&o, DEP_CODE_LIBRARY, BASE, 4, DEP_READ));
	assert_false(shows(&o, DEP_CODE_LOADER, BASE, 4, DEP_READ));
	assert_true(shows(&o, me, BASE + 24, 4, DEP_READ));
	assert_false(shows(&o, DEP_CODE_CALLER, BASE + 24, 4, DEP_READ));
	/* more than the initial capacity */
	for (i = 0; i < 20000; i++)
		assert_true(shows(&o, me, BASE + 0x100000 + i * 8, 8, DEP_WRITE));
	for (i = 19000; i < 20000; i++)
		assert_false(shows(&o, me, BASE + 0x100000 + i * 8, 8, DEP_WRITE));
	/* the highest addresses, and a range that wraps around */
	assert_true(shows(&o, me, 1ull << 47, 8, DEP_READ));
	assert_false(shows(&o, me, 1ull << 47, 8, DEP_READ));
	assert_true(shows(&o, me, ~0ull - 3, 4, DEP_READ));
	assert_false(shows(&o, me, ~0ull - 3, 4, DEP_READ));
	assert_true(shows(&o, me, ~0ull, 4, DEP_READ));
	assert_true(shows(&o, me, ~0ull, 4, DEP_READ));
	for (i = 0; i < 40000; i++) {
		dep_filter_new_interval(&o.s);
		assert_true(shows(&o, me, BASE, 4, DEP_READ));
		assert_false(shows(&o, me, BASE, 4, DEP_READ));
	}
	end_one(&o);
}

static void who_it_was(void **unused)
{
	const u8 me = DEP_CODE_PROGRAM, it = DEP_CODE_THREADS;
	struct one o;

	(void)unused;
	begin_one(&o, false);
	assert_true(shows(&o, me, BASE, 4, DEP_READ));
	/* the first reference after a change of origin is always emitted */
	assert_true(shows(&o, it, BASE + 8, 4, DEP_READ));
	assert_true(shows(&o, me, BASE, 4, DEP_READ));
	assert_false(shows(&o, me, BASE, 4, DEP_READ));
	assert_true(shows(&o, it, BASE + 8, 4, DEP_READ));
	assert_false(shows(&o, it, BASE + 8, 4, DEP_READ));
	/* the calls of one origin do not cover those of the other */
	assert_true(shows(&o, DEP_CODE_CALLER, BASE, 4, DEP_READ));
	assert_false(shows(&o, DEP_CODE_LIBRARY, BASE, 4, DEP_READ));
	assert_true(shows(&o, me, BASE + 80, 4, DEP_READ));
	assert_true(shows(&o, DEP_CODE_LIBRARY, BASE, 4, DEP_READ));
	/* the robust mutex list, written by a library */
	o.s.fs = BASE + 0x10000;
	assert_true(shows(&o, DEP_CODE_LIBRARY, BASE + 0x10020, 8, DEP_WRITE));
	assert_true(shows(&o, DEP_CODE_LIBRARY, BASE + 0x10020, 8, DEP_WRITE));
	end_one(&o);
}

static void what_orders(void **unused)
{
	const u8 me = DEP_CODE_PROGRAM;
	struct dep_ref plain = { 1, WORD, 4, DEP_WRITE, 0 };
	struct one o;

	(void)unused;
	begin_one(&o, false);
	assert_true(shows(&o, me, BASE, 4, DEP_READ));
	assert_true(shows(&o, me, WORD, 4, DEP_WRITE));
	o.s.all = true;
	assert_true(shows(&o, me, WORD, 4, DEP_MODIFY));
	assert_true(shows(&o, me, WORD, 4, DEP_MODIFY));
	dep_filter_new_interval(&o.s);
	assert_true(dep_word_set_has(&o.locked, WORD, 4));
	assert_true(shows(&o, me, WORD, 4, DEP_READ));
	assert_true(shows(&o, me, WORD, 4, DEP_READ));
	assert_true(shows(&o, me, BASE, 4, DEP_READ));
	assert_false(shows(&o, me, BASE, 4, DEP_READ));
	/* a write to it makes later references new */
	assert_true(show(&o.s, me, &plain));
	assert_int_equal(plain.type, DEP_WRITE | DEP_REF_RELEASES);
	assert_true(shows(&o, me, BASE, 4, DEP_READ));
	/* the word next to it is an ordinary word */
	assert_true(shows(&o, me, WORD + 4, 4, DEP_WRITE));
	assert_false(shows(&o, me, WORD + 4, 4, DEP_WRITE));
	end_one(&o);
}

#define JOINED	0x200u		/* flag of an expected type: merged references */

static void expect_deferred(struct one *o, u64 addr, u32 size, u32 type)
{
	struct dep_ref r;
	bool joined;

	assert_true(take_run(&taken, &o->s, &r, true, &joined));
	assert_int_equal(joined ? r.type | JOINED : r.type, type);
	assert_true(r.addr == addr);
	assert_int_equal(r.size, size);
}

static void deferred(void **unused)
{
	const u8 me = DEP_CODE_PROGRAM, it = DEP_CODE_LIBRARY, threads = DEP_CODE_THREADS;
	const u32 reads = DEP_READ | JOINED, writes = DEP_WRITE | JOINED;
	struct dep_ref r = { 1, WORD, 4, DEP_READ, 0 };
	struct one o;
	u32 i;

	(void)unused;
	begin_one(&o, false);
	o.scope.singly = false;
	/* the first one shows the origin, and does not count */
	for (i = 0; i <= DEP_FILTER_SINGLY; i++)
		assert_true(shows(&o, me, BASE + i * 8, 4, DEP_READ));
	assert_false(is_deferred(&o, true));
	/*
	 * merged if adjacent, across words, up to the end of a page; together with their neighbours
	 */
	for (i = 0; i < 100; i++)
		assert_false(shows(&o, me, BASE + 0xfa0 + i, 1, DEP_READ));
	assert_false(shows(&o, me, BASE + 0xfb0, 8, DEP_WRITE));
	assert_false(shows(&o, me, BASE + 0xfb4, 8, DEP_MODIFY));
	assert_false(shows(&o, me, BASE, 4, DEP_READ));
	assert_false(shows(&o, it, BASE + 0x3000, 4, DEP_WRITE));
	/* These are not deferred: code of the thread library, and references that order. */
	assert_true(shows(&o, threads, BASE + 0x4000, 4, DEP_READ));
	assert_true(shows(&o, me, BASE + 0x4100, 4, DEP_READ));
	assert_int_equal(dep_word_set_add(&o.locked, WORD, 4), 0);
	r = (struct dep_ref){ 1, WORD, 4, DEP_READ, 0 };
	assert_int_equal(dep_filter_first(&o.s, me, &r), DEP_FILTER_FLUSH_THEN_EMIT);
	r = (struct dep_ref){ 1, WORD, 4, DEP_WRITE, 0 };
	assert_int_equal(dep_filter_first(&o.s, me, &r), DEP_FILTER_FLUSH_THEN_EMIT);
	/* the last page comes first */
	expect_deferred(&o, BASE + 0x3000, 4, writes);
	expect_deferred(&o, BASE + 0x1000, 4, reads);
	expect_deferred(&o, BASE + 0xfb0, 12, writes);
	expect_deferred(&o, BASE + 0xfa0, 16, reads);
	expect_deferred(&o, BASE + 0xfbc, 0x44, reads);
	for (i = 0; i < DEP_FILTER_LAST; i++)
		expect_deferred(&o, BASE + 0xfa0 + 100 - DEP_FILTER_LAST + i, 1, DEP_READ);
	assert_false(is_deferred(&o, true));
	/* not flushed in an allocator, which may make system calls */
	assert_false(shows(&o, me, BASE + 0x5000, 4, DEP_READ));
	expect_deferred(&o, BASE + 0x5000, 4, reads);
	calls(&o, 0x1000, DEP_F_MALLOC, 16, 0, it);
	assert_false(is_deferred(&o, true));
	returns(&o, 0x1000, BASE + 0x6000, true);
	expect_deferred(&o, BASE + 0x5000, 4, DEP_READ);
	/* emitted once only; in a new interval it is emitted again */
	assert_false(shows(&o, me, BASE + 0xfa0, 16, DEP_READ));
	assert_false(is_deferred(&o, true));
	dep_filter_new_interval(&o.s);
	assert_true(shows(&o, me, BASE + 0xfa0, 16, DEP_READ));
	end_one(&o);
}

/* More pages than the cache has: no deferred reference is lost. */
static void many_pages(void **unused)
{
	const u8 me = DEP_CODE_PROGRAM;
	struct one o;
	u32 i, n = 0;

	(void)unused;
	begin_one(&o, false);
	o.scope.singly = false;
	for (i = 0; i < 20000; i++)
		n += shows(&o, me, BASE + i * 4096ul, 4, DEP_WRITE);
	assert_in_range(n, DEP_FILTER_SINGLY, 19000);
	while (is_deferred(&o, true))
		n++;
	assert_int_equal(n, 20000);
	/* and once more, since the cache holds none of these pages */
	for (i = 0; i < 20000; i++)
		n += shows(&o, me, BASE + 0x10000000 + i * 4096ul, 4, DEP_WRITE);
	while (is_deferred(&o, true))
		n++;
	assert_int_equal(n, 40000);
	end_one(&o);
}

static void fences(void **unused)
{
	const u8 me = DEP_CODE_PROGRAM;
	struct one o;

	(void)unused;
	begin_one(&o, false);
	assert_true(shows(&o, me, BASE, 4, DEP_READ));
	dep_filter_timestamp(&o.s, DEP_TK_FENCE);
	assert_true(shows(&o, me, WORD, 8, DEP_MODIFY));
	dep_filter_timestamp(&o.s, DEP_TK_AFTER | DEP_TK_FENCE);
	assert_false(dep_word_set_has(&o.locked, WORD, 8));
	/* It still begins an interval. */
	assert_true(shows(&o, me, BASE, 4, DEP_READ));
	dep_filter_timestamp(&o.s, 0);
	assert_true(shows(&o, me, WORD, 8, DEP_MODIFY));
	assert_true(dep_word_set_has(&o.locked, WORD, 8));
	end_one(&o);
}

/* References of the loader are dropped unless they order. */
static void by_loader(void **unused)
{
	const u8 it = DEP_CODE_LOADER;
	struct one o;

	(void)unused;
	begin_one(&o, false);
	assert_false(shows(&o, it, BASE, 4, DEP_WRITE));
	assert_int_equal(dep_word_set_add(&o.locked, WORD, 4), 0);
	assert_true(shows(&o, it, WORD, 4, DEP_WRITE));
	dep_filter_timestamp(&o.s, 0);
	assert_true(shows(&o, it, BASE + 8, 4, DEP_MODIFY));
	dep_filter_timestamp(&o.s, DEP_TK_AFTER);
	assert_true(dep_word_set_has(&o.locked, BASE + 8, 4));
	o.s.fs = BASE + 0x1000;
	assert_true(shows(&o, it, BASE + 0x1100, 8, DEP_WRITE));
	end_one(&o);
}

static u32 count_in(struct one *o, u8 code, u64 address, u32 how)
{
	struct dep_ref r = { 1, address, 8, DEP_MODIFY, 0 };

	dep_filter_timestamp(&o->s, how);
	assert_true(show(&o->s, code, &r));
	dep_filter_timestamp(&o->s, DEP_TK_AFTER);
	return r.type;
}

static void counting(void **unused)
{
	const u32 counts = DEP_TK_COUNTS | DEP_TK_UNUSED, is_one = DEP_MODIFY | DEP_REF_COUNTS;
	const u8 me = DEP_CODE_PROGRAM;
	struct one o;
	u32 i;

	(void)unused;
	begin_one(&o, false);
	o.scope.singly = false;
	for (i = 0; i < DEP_ATOMIC_COUNTERS_OFTEN; i++) {
		shows(&o, me, BASE, 4, DEP_READ);
		assert_int_equal(count_in(&o, me, WORD, counts), DEP_MODIFY);
		assert_true(shows(&o, me, BASE, 4, DEP_READ));
	}
	assert_int_equal(count_in(&o, me, WORD, counts), is_one);
	assert_false(shows(&o, me, BASE, 4, DEP_READ));
	/* only for such an instruction, and only if the origin is known */
	assert_int_equal(count_in(&o, me, WORD, DEP_TK_UNUSED), DEP_MODIFY);
	assert_int_equal(count_in(&o, me, WORD, counts), DEP_MODIFY);
	assert_true(shows(&o, me, BASE, 4, DEP_READ));
	assert_int_equal(count_in(&o, DEP_CODE_THREADS, WORD, counts), DEP_MODIFY);
	assert_true(shows(&o, me, BASE, 4, DEP_READ));
	assert_int_equal(count_in(&o, me, WORD, counts), is_one);
	/* any timestamps in between */
	dep_filter_timestamp(&o.s, counts);
	dep_filter_timestamp(&o.s, DEP_TK_AFTER);
	assert_true(shows(&o, me, BASE, 4, DEP_READ));
	/* the thread itself may read the word, another one may not */
	assert_true(shows(&o, me, WORD, 4, DEP_READ));
	assert_int_equal(count_in(&o, me, WORD, counts), is_one);
	dep_atomic_counters_read(&o.counters, WORD, 4, 2);
	assert_int_equal(count_in(&o, me, WORD, counts), DEP_MODIFY);
	assert_true(shows(&o, me, BASE, 4, DEP_READ));
	end_one(&o);
}

static void waiting(void **unused)
{
	const u8 me = DEP_CODE_PROGRAM;
	struct one o;
	u32 i;

	(void)unused;
	begin_one(&o, false);
	for (i = 0; i < 40; i++) {
		shows(&o, me, WORD, 4, DEP_READ);
		shows(&o, me, BASE + i * 8, 4, DEP_WRITE);
	}
	assert_int_equal(o.spin_words.words, 0);
	for (i = 0; i < 40; i++)
		shows(&o, me, WORD, 4, DEP_READ);
	assert_int_equal(o.spin_words.words, 1);
	assert_true(dep_word_set_has(&o.spin_words, WORD, 4));
	end_one(&o);
}

static void wanted_ones(void **unused)
{
	const u8 me = DEP_CODE_PROGRAM;
	struct one o;
	u32 i;

	(void)unused;
	begin_one(&o, true);
	assert_int_equal(dep_word_set_add(&o.wanted, BASE, 4), 0);
	assert_true(dep_filter_wants(&o.s, me, BASE + 64, 4, DEP_READ));
	for (i = 0; i < 3; i++) {
		assert_false(dep_filter_wants(&o.s, me, BASE + 64, 4, DEP_READ));
		assert_false(dep_filter_wants(&o.s, me, BASE + 4, 4, DEP_READ));
		assert_true(dep_filter_wants(&o.s, me, BASE, 1, DEP_READ));
		assert_true(dep_filter_wants(&o.s, me, BASE - 60, 64, DEP_READ));
		assert_true(dep_filter_wants(&o.s, me, BASE - 4096, 8192, DEP_READ));
	}
	assert_true(dep_filter_wants(&o.s, DEP_CODE_THREADS, BASE + 64, 4, DEP_READ));
	assert_true(dep_filter_wants(&o.s, me, BASE + 64, 4, DEP_READ));
	o.s.all = true;
	assert_true(dep_filter_wants(&o.s, me, BASE + 64, 4, DEP_READ));
	end_one(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_ones),
		cmocka_unit_test(who_it_was),
		cmocka_unit_test(what_orders),
		cmocka_unit_test(deferred),
		cmocka_unit_test(many_pages),
		cmocka_unit_test(fences),
		cmocka_unit_test(by_loader),
		cmocka_unit_test(counting),
		cmocka_unit_test(waiting),
		cmocka_unit_test(wanted_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
