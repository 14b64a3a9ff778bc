// SPDX-License-Identifier: GPL-2.0-or-later
/* Which references the filter of one thread drops and defers, and what begins an interval. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "dep/races.h"
#include "libdep/recover/program/program.h"
#include "tests/unit/lib/joined.h"
#include "one_filter.h"

#define BASE	0x7f0000001000ull
#define WORD	0x7f0000005000ull
#define COUNTER	0x7f0000006000ull

static bool shows(struct one *o, u8 code, u64 addr, u32 size, u32 type)
{
	struct dep_ref r = { 1, addr, size, (u16)type, 0 };

	return show(&o->s, code, &r);
}

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

static struct taken taken;

static void expect_deferred(struct one *o, u64 addr, u32 size, u32 type)
{
	struct dep_ref r;
	bool joined;

	assert_true(take_run(&taken, &o->s, &r, true, &joined));
	assert_int_equal(joined ? r.type | JOINED : r.type, type);
	assert_true(r.addr == addr);
	assert_int_equal(r.size, size);
}

static bool is_deferred(struct one *o, bool last)
{
	struct dep_ref r;
	bool joined;

	return take_run(&taken, &o->s, &r, last, &joined);
}

static u64 calls(struct one *o, u64 sp, u32 function, u64 a, u64 b, u8 code)
{
	const struct dep_call_values passed = { .sp = sp, .value = { a, b } };
	const struct dep_function_call f = { .function = function, .known = 3, .passed = &passed };

	return dep_filter_function(&o->s, &f, code);
}

static void returns(struct one *o, u64 sp, u64 result, bool known)
{
	const struct dep_call_values passed = { .sp = sp + 8, .value = { result } };
	const struct dep_function_call f = { .is_return = true, .known = known, .passed = &passed };

	dep_filter_function(&o->s, &f, DEP_CODE_PROGRAM);
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
		cmocka_unit_test(in_functions),
		cmocka_unit_test(asking_again),
		cmocka_unit_test(when_flushed),
		cmocka_unit_test(counting_again),
		cmocka_unit_test(fences),
		cmocka_unit_test(by_loader),
		cmocka_unit_test(locked_behind_call),
		cmocka_unit_test(counting),
		cmocka_unit_test(waiting),
		cmocka_unit_test(wanted_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
