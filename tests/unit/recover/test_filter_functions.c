// SPDX-License-Identifier: GPL-2.0-or-later
/* What calls of hooked functions make the filter of one thread drop, defer and pass on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "dep/races.h"
#include "libdep/recover/program/program.h"
#include "filter_calls.h"

static void in_functions(void **unused)
{
	const u8 me = DEP_CODE_PROGRAM, it = DEP_CODE_LIBRARY;
	struct one o;

	(void)unused;
	begin_one(&o, false);
	assert_true(shows(&o, me, BASE, 64, DEP_READ));
	assert_true(shows(&o, me, BASE + 0x1000 - 8, 16, DEP_WRITE));
	/* References inside an allocator are dropped; exactly the block that it returns is new. */
	calls(&o, 0x1000, DEP_F_CALLOC, 2, 8, it);
	calls(&o, 0xf00, DEP_F_MALLOC, 16, 0, it);
	assert_false(shows(&o, it, BASE + 0x2000, 8, DEP_WRITE));
	dep_filter_timestamp(&o.s, 0);
	assert_false(shows(&o, it, BASE + 0x3000, 8, DEP_MODIFY));
	dep_filter_timestamp(&o.s, DEP_TK_AFTER);
	assert_false(dep_word_set_has(&o.locked, BASE + 0x3000, 8));
	returns(&o, 0xf00, BASE, true);
	assert_false(shows(&o, it, BASE + 0x2000, 8, DEP_WRITE));
	returns(&o, 0x1000, BASE + 0x1000 - 8, true);
	assert_true(shows(&o, it, BASE + 0x2000, 8, DEP_WRITE));
	assert_false(shows(&o, me, BASE, 64, DEP_READ));
	assert_true(shows(&o, me, BASE + 0x1000 - 8, 4, DEP_READ));
	assert_true(shows(&o, me, BASE + 0x1000 + 4, 4, DEP_READ));
	assert_false(shows(&o, me, BASE + 0x1000 - 8, 4, DEP_READ));
	/* References after free() are emitted, even if the size of the block is not known. */
	assert_true(calls(&o, 0x1000, DEP_F_FREE, BASE, 0, it) == DEP_FILTER_ALL_OF_IT);
	returns(&o, 0x1000, 0, false);
	assert_true(shows(&o, me, BASE, 64, DEP_READ));
	assert_false(shows(&o, me, BASE, 64, DEP_READ));
	calls(&o, 0x1000, DEP_F_REALLOC, BASE, 64, it);
	returns(&o, 0x1000, BASE + 0x100, true);
	assert_true(shows(&o, me, BASE, 64, DEP_READ));
	assert_false(shows(&o, me, BASE, 64, DEP_READ));
	/*
	 * The size is known for one free() only; a block that realloc() has moved is no longer
	 * known.
	 */
	calls(&o, 0x1000, DEP_F_MALLOC, 24, 0, it);
	returns(&o, 0x1000, BASE + 0x200, true);
	assert_true(shows(&o, me, BASE + 0x200, 40, DEP_WRITE));
	assert_int_equal(calls(&o, 0x1000, DEP_F_FREE, BASE + 0x200, 0, it), 24);
	returns(&o, 0x1000, 0, false);
	assert_false(shows(&o, me, BASE, 64, DEP_READ));
	assert_false(shows(&o, me, BASE + 0x218, 16, DEP_WRITE));
	assert_true(shows(&o, me, BASE + 0x210, 8, DEP_READ));
	assert_true(calls(&o, 0x1000, DEP_F_FREE, BASE + 0x200, 0, it) == DEP_FILTER_ALL_OF_IT);
	returns(&o, 0x1000, 0, false);
	calls(&o, 0x1000, DEP_F_REALLOC, BASE + 0x100, 128, it);
	returns(&o, 0x1000, BASE + 0x300, true);
	assert_true(calls(&o, 0x1000, DEP_F_FREE, BASE + 0x100, 0, it) == DEP_FILTER_ALL_OF_IT);
	returns(&o, 0x1000, 0, false);
	assert_true(shows(&o, me, BASE, 64, DEP_READ));
	assert_int_equal(calls(&o, 0x1000, DEP_F_FREE, BASE + 0x300, 0, it), 128);
	returns(&o, 0x1000, 0, false);
	assert_false(shows(&o, me, BASE, 64, DEP_READ));
	/* NULL is not a block. */
	calls(&o, 0x1000, DEP_F_FREE, 0, 0, it);
	returns(&o, 0x1000, 0, false);
	assert_false(shows(&o, me, BASE, 64, DEP_READ));
	/* malloc_usable_size() makes the rest of the block new. */
	calls(&o, 0x1000, DEP_F_MALLOC, 24, 0, it);
	returns(&o, 0x1000, BASE + 0x400, true);
	assert_true(shows(&o, me, BASE + 0x400, 40, DEP_WRITE));
	calls(&o, 0x1000, DEP_F_MALLOC_USABLE_SIZE, BASE + 0x400, 0, it);
	returns(&o, 0x1000, 32, true);
	assert_false(shows(&o, me, BASE + 0x420, 8, DEP_WRITE));
	assert_true(shows(&o, me, BASE + 0x400, 24, DEP_WRITE));
	assert_true(shows(&o, me, BASE + 0x418, 8, DEP_WRITE));
	assert_false(shows(&o, me, BASE, 64, DEP_READ));
	assert_int_equal(calls(&o, 0x1000, DEP_F_FREE, BASE + 0x400, 0, it), 32);
	returns(&o, 0x1000, 0, false);
	assert_false(shows(&o, me, BASE, 64, DEP_READ));
	calls(&o, 0x1000, DEP_F_MALLOC_USABLE_SIZE, BASE + 0x400, 0, it);
	returns(&o, 0x1000, 0, false);
	assert_true(shows(&o, me, BASE, 64, DEP_READ));
	assert_false(shows(&o, me, BASE, 64, DEP_READ));
	calls(&o, 0x1000, DEP_F_MALLOC, 16, 0, it);
	returns(&o, 0x1000, 0, false);
	assert_true(shows(&o, me, BASE, 64, DEP_READ));
	assert_false(shows(&o, me, BASE, 64, DEP_READ));
	calls(&o, 0x1000, DEP_F_MALLOC, 1ul << 40, 0, it);
	returns(&o, 0x1000, BASE + 0x100000, true);
	assert_true(shows(&o, me, BASE, 64, DEP_READ));
	/*
	 * Other functions end the interval; so does a return without an entry, unless it is known
	 * that none was hooked.
	 */
	calls(&o, 0x1000, DEP_F_MUTEX_LOCK, BASE, 0, it);
	assert_true(shows(&o, me, BASE, 64, DEP_READ));
	returns(&o, 0x1000, 0, true);
	assert_true(shows(&o, me, BASE, 64, DEP_READ));
	returns(&o, 0x1000, 0, true);
	assert_false(shows(&o, me, BASE, 64, DEP_READ));
	dep_filter_left(&o.s);
	returns(&o, 0x1000, 0, true);
	assert_false(shows(&o, me, BASE, 64, DEP_READ));
	calls(&o, 0x1000, DEP_F_MALLOC, 16, 0, it);
	dep_filter_left(&o.s);
	returns(&o, 0x1000, 0, true);
	assert_true(shows(&o, me, BASE, 64, DEP_READ));
	/*
	 * Code of the program inside a library's function means that longjmp() left the function.
	 */
	calls(&o, 0x1000, DEP_F_MALLOC, 16, 0, it);
	assert_false(shows(&o, it, BASE + 0x4000, 8, DEP_WRITE));
	assert_true(shows(&o, me, BASE + 0x4000, 8, DEP_WRITE));
	assert_true(shows(&o, it, BASE + 0x4010, 8, DEP_WRITE));
	/* An allocator of the program's own; more calls than the filter keeps. */
	calls(&o, 0x1000, DEP_F_MALLOC, 16, 0, me);
	assert_false(shows(&o, me, BASE + 0x5000, 8, DEP_WRITE));
	for (u32 i = 1; i < DEP_FILTER_CALLS; i++)
		calls(&o, 0x1000 - 16 * i, DEP_F_MUTEX_LOCK, BASE, 0, me);
	assert_false(shows(&o, me, BASE + 0x5000, 8, DEP_WRITE));
	calls(&o, 0x100, DEP_F_MUTEX_LOCK, BASE, 0, me);
	assert_true(shows(&o, me, BASE + 0x5000, 8, DEP_WRITE));
	end_one(&o);
}

static void tell_size(struct one *o, u64 block, u64 size)
{
	calls(o, 0x1000, DEP_F_MALLOC_USABLE_SIZE, block, 0, DEP_CODE_LIBRARY);
	returns(o, 0x1000, size, true);
}

/* A second query of the same block's size in the same interval makes nothing new. */
static void asking_again(void **unused)
{
	const u8 me = DEP_CODE_PROGRAM, it = DEP_CODE_LIBRARY;
	struct one o;

	(void)unused;
	begin_one(&o, false);
	tell_size(&o, BASE, 64);
	assert_true(shows(&o, me, BASE, 64, DEP_WRITE));
	tell_size(&o, BASE, 64);
	assert_false(shows(&o, me, BASE, 64, DEP_WRITE));
	tell_size(&o, BASE, 32);
	assert_true(shows(&o, me, BASE, 32, DEP_WRITE));
	assert_false(shows(&o, me, BASE + 32, 32, DEP_WRITE));
	dep_filter_new_interval(&o.s);
	assert_true(shows(&o, me, BASE, 32, DEP_WRITE));
	tell_size(&o, BASE, 32);
	assert_true(shows(&o, me, BASE, 32, DEP_WRITE));
	/* It is another block now. */
	calls(&o, 0x1000, DEP_F_FREE, BASE, 0, it);
	returns(&o, 0x1000, 0, false);
	calls(&o, 0x1000, DEP_F_MALLOC, 16, 0, it);
	returns(&o, 0x1000, BASE, true);
	assert_true(shows(&o, me, BASE, 32, DEP_WRITE));
	tell_size(&o, BASE, 32);
	assert_true(shows(&o, me, BASE + 16, 16, DEP_WRITE));
	end_one(&o);
}

static bool must_flush(struct one *o, u32 function, u64 block)
{
	const struct dep_call_values passed = { .sp = 0x1000, .value = { block } };
	const struct dep_function_call f = { .function = function, .known = 1, .passed = &passed };

	return dep_filter_passes(&o->s, &f);
}

static bool must_flush_after(struct one *o, u64 result)
{
	const struct dep_call_values passed = { .sp = 0x1008, .value = { result } };
	const struct dep_function_call f = { .is_return = true, .known = 1, .passed = &passed };

	return dep_filter_passes(&o->s, &f);
}

/*
 * Deferred references are flushed before their memory may be reused, and before another thread may
 * continue.
 */
static void when_flushed(void **unused)
{
	const u8 me = DEP_CODE_PROGRAM, it = DEP_CODE_LIBRARY;
	const u32 counts = DEP_TK_COUNTS | DEP_TK_UNUSED;
	struct one o;
	u32 i;

	(void)unused;
	begin_one(&o, false);
	o.scope.singly = false;
	calls(&o, 0x1000, DEP_F_MALLOC, 64, 0, it);
	returns(&o, 0x1000, BASE + 0x100, true);
	for (i = 0; i <= DEP_FILTER_SINGLY; i++)
		assert_true(shows(&o, me, BASE + 0x1000 + i * 8, 4, DEP_READ));
	assert_false(must_flush(&o, DEP_F_FREE, BASE + 0x100));
	assert_false(shows(&o, me, BASE + 0x13c, 4, DEP_WRITE));
	assert_true(must_flush(&o, DEP_F_FREE, BASE + 0x100));
	assert_true(must_flush(&o, DEP_F_FREE, BASE + 0x200));
	assert_false(must_flush(&o, DEP_F_FREE, 0));
	assert_false(must_flush(&o, DEP_F_MALLOC, 16));
	assert_true(must_flush(&o, DEP_F_MUTEX_LOCK, BASE));
	calls(&o, 0x1000, DEP_F_MALLOC, 16, 0, it);
	assert_false(dep_filter_locks(&o.s, 0, it));
	assert_true(dep_filter_locks(&o.s, 0, me));
	assert_false(must_flush_after(&o, BASE + 0x140));
	assert_true(must_flush_after(&o, BASE + 0x138));
	/* A locked instruction whose timestamp comes before the return. */
	dep_filter_timestamp(&o.s, counts);
	assert_false(must_flush_after(&o, BASE + 0x140));
	dep_filter_timestamp(&o.s, 0);
	assert_true(must_flush_after(&o, BASE + 0x140));
	dep_filter_timestamp(&o.s, DEP_TK_AFTER);
	returns(&o, 0x1000, BASE + 0x140, true);
	assert_true(is_deferred(&o, false));
	assert_false(is_deferred(&o, false));
	assert_true(dep_filter_locks(&o.s, 0, me));
	assert_false(dep_filter_locks(&o.s, counts, me));
	assert_true(dep_filter_locks(&o.s, DEP_TK_AFTER, me));
	assert_false(dep_filter_locks(&o.s, DEP_TK_AFTER | DEP_TK_UNUSED, me));
	end_one(&o);
}

/* Repeated counts in one interval are dropped. */
static void counting_again(void **unused)
{
	const u32 counts = DEP_TK_COUNTS | DEP_TK_UNUSED;
	const u8 me = DEP_CODE_PROGRAM;
	struct dep_ref r = { 1, WORD, 8, DEP_MODIFY, 0 };
	struct dep_filter copy;
	struct one o;
	u32 i;

	(void)unused;
	begin_one(&o, false);
	o.scope.singly = false;
	for (i = 0; i < DEP_ATOMIC_COUNTERS_OFTEN; i++)
		dep_atomic_counters_count(&o.counters, WORD, 8, 1);
	shows(&o, me, BASE, 4, DEP_READ);
	for (i = 0; i < 4; i++) {
		if (i == 2)
			dep_filter_new_interval(&o.s);
		if (i == 2)
			shows(&o, me, BASE, 4, DEP_READ);
		assert_true(dep_filter_holds(&o.s, counts, me));
		dep_filter_timestamp(&o.s, counts);
		assert_int_equal(shows(&o, me, WORD, 8, DEP_MODIFY), i % 2 == 0);
		dep_filter_timestamp(&o.s, counts | DEP_TK_AFTER);
	}
	assert_false(dep_filter_holds(&o.s, DEP_TK_UNUSED, me));
	assert_false(dep_filter_holds(&o.s, counts | DEP_TK_FENCE, me));
	o.s.timestamps_stay = true;
	assert_false(dep_filter_holds(&o.s, counts, me));
	/*
	 * A copy with another interval number has not counted, but continues to hold the timestamp.
	 */
	dep_filter_timestamp(&o.s, counts);
	o.s.held.pc = 1;
	while (o.s.seen.turn < 3)
		dep_access_set_new_interval(&o.s.seen);
	shows(&o, me, WORD, 8, DEP_MODIFY);
	o.s.all = true;
	o.s.counts = true;
	assert_int_equal(dep_filter_copy(&copy, &o.s), 0);
	assert_int_equal(copy.held.pc, 1);
	while (copy.seen.turn < o.s.seen.turn)
		dep_access_set_new_interval(&copy.seen);
	copy.who[me] = DEP_FILTER_PROGRAM;
	assert_int_equal(dep_filter_first(&copy, me, &r), DEP_FILTER_EMIT);
	dep_filter_free(&copy);
	/*
	 * An event releases the held timestamp, but the return whose timestamp came before does
	 * not.
	 */
	calls(&o, 0x1000, DEP_F_MUTEX_UNLOCK, BASE, 0, DEP_CODE_LIBRARY);
	o.s.held.pc = 1;
	returns(&o, 0x1000, 0, true);
	assert_int_equal(o.s.held.pc, 1);
	dep_filter_reset(&o.s);
	assert_int_equal(o.s.held.pc, 0);
	end_one(&o);
}

/* The first instruction after a call may be a locked one: its timestamp comes before the return. */
static void locked_behind_call(void **unused)
{
	const u8 me = DEP_CODE_PROGRAM, it = DEP_CODE_LIBRARY;
	struct one o;
	u32 i;

	(void)unused;
	for (i = 0; i < 2; i++) {
		begin_one(&o, false);
		assert_true(shows(&o, me, BASE, 64, DEP_READ));
		assert_false(shows(&o, me, BASE, 64, DEP_READ));
		calls(&o, 0x1000, DEP_F_MALLOC, 16, 0, it);
		dep_filter_timestamp(&o.s, 0);
		/* Without it the instruction is reached by longjmp(). */
		if (!i)
			returns(&o, 0x1000, BASE + 0x100, true);
		assert_true(shows(&o, me, WORD, 4, DEP_MODIFY));
		dep_filter_timestamp(&o.s, DEP_TK_AFTER);
		assert_true(dep_word_set_has(&o.locked, WORD, 4));
		assert_true(shows(&o, me, BASE, 64, DEP_READ));
		assert_false(shows(&o, me, BASE, 64, DEP_READ));
		/* Even if the function that returns orders as well, the word becomes atomic. */
		calls(&o, 0x1000, DEP_F_MUTEX_UNLOCK, BASE, 0, it);
		dep_filter_timestamp(&o.s, 0);
		returns(&o, 0x1000, 0, true);
		assert_true(shows(&o, me, WORD + 64, 4, DEP_MODIFY));
		dep_filter_timestamp(&o.s, DEP_TK_AFTER);
		assert_true(dep_word_set_has(&o.locked, WORD + 64, 4));
		shows(&o, me, BASE, 64, DEP_READ);
		/* A locked instruction of the allocator itself is complete before the return. */
		calls(&o, 0x1000, DEP_F_MALLOC, 16, 0, it);
		dep_filter_timestamp(&o.s, 0);
		dep_filter_timestamp(&o.s, DEP_TK_AFTER);
		returns(&o, 0x1000, BASE + 0x100, true);
		assert_false(shows(&o, me, BASE, 64, DEP_READ));
		end_one(&o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_functions),
		cmocka_unit_test(asking_again),
		cmocka_unit_test(when_flushed),
		cmocka_unit_test(counting_again),
		cmocka_unit_test(locked_behind_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
