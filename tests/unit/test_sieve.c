// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sets of places, and what a sieve leaves out: on random executions a detector that is shown only
 * what is left finds the same bytes in races as one that is shown everything.
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

#include "../../include/dep/races.h"
#include "../../libdep/recover/program.h"
#include "../../libdep/analyze/races/detect.h"
#include "one_sieve.h"
#include "random.h"

#define THREADS		4u
#define LOCKS		3u
#define COUNTERS	2u
#define BLOCKS		4u
#define BLOCK		24u
#define BYTES		96u
#define BASE		0x7f0000001000ull
#define WORD		0x7f0000005000ull	/* of plain accesses that order threads */
#define COUNTER		0x7f0000006000ull

/* ---- places ---- */

static int count_words(void *arg, u64 address, u64 size)
{
	(void)address;
	*(u64 *)arg += size / 4;
	return 0;
}

static void places(void **unused)
{
	struct dep_places p;
	u64 i, at, n = 0;

	(void)unused;
	dep_places_init(&p);
	assert_false(dep_places_has(&p, 0, 8));
	/* many pages, so that the table grows */
	for (i = 0; i < 5000; i++)
		assert_int_equal(dep_places_add(&p, i * 40000, 4), 0);
	for (i = 0; i < 5000; i++) {
		at = i * 40000;
		assert_true(dep_places_has(&p, at, 1));
		assert_true(dep_places_has(&p, at + 3, 1));
		assert_true(dep_places_has(&p, i ? at - 5 : 0, 100));
		assert_true(dep_places_maybe(&p, at));
		assert_false(dep_places_has(&p, at + 4, 8));
		assert_false(dep_places_has(&p, at - 8, 8));
	}
	/* twice is once */
	assert_int_equal(dep_places_add(&p, 0, 4), 0);
	assert_int_equal(dep_places_each(&p, count_words, &n), 0);
	assert_int_equal(n, 5000);
	assert_int_equal(p.words, 5000);
	/* over pages, and parts of words */
	assert_int_equal(dep_places_add(&p, 0xfffffffffffff002, 4), 0);
	assert_true(dep_places_has(&p, 0xfffffffffffff000, 1));
	assert_true(dep_places_has(&p, 0xfffffffffffff004, 1));
	assert_false(dep_places_has(&p, 0xfffffffffffff008, 100000));
	assert_int_equal(dep_places_add(&p, 0x10000ffe, 0x1004), 0);
	assert_true(dep_places_has(&p, 0x10002000, 1));
	assert_false(dep_places_has(&p, 0x10002004, 1));
	dep_places_free(&p);
}

static void blocks(void **unused)
{
	struct dep_blocks b = { 0 };
	u64 i, n = 0;

	(void)unused;
	assert_int_equal(dep_blocks_get(&b, BASE), 0);
	dep_blocks_set(&b, BASE, 24);
	assert_int_equal(dep_blocks_get(&b, BASE), 24);
	assert_int_equal(dep_blocks_get(&b, BASE + 8), 0);
	assert_int_equal(dep_blocks_get(&b, BASE + 1), 0);
	assert_int_equal(dep_blocks_get(&b, BASE | 1ull << 47), 0);
	/* what does not fit is not known any more */
	dep_blocks_set(&b, BASE, 1 << 20);
	assert_int_equal(dep_blocks_get(&b, BASE), 0);
	dep_blocks_set(&b, BASE, (1 << 20) - 1);
	assert_int_equal(dep_blocks_get(&b, BASE), (1 << 20) - 1);
	dep_blocks_remove(&b, BASE);
	assert_int_equal(dep_blocks_get(&b, BASE), 0);
	dep_blocks_set(&b, BASE + 4, 24);
	assert_int_equal(dep_blocks_get(&b, BASE + 4), 0);
	dep_blocks_set(&b, BASE, 0);
	assert_int_equal(dep_blocks_get(&b, BASE), 0);
	for (i = 0; i < 3 * DEP_BLOCKS; i++)
		dep_blocks_set(&b, BASE + i * 32, i + 1);
	for (i = 0; i < 3 * DEP_BLOCKS; i++) {
		n += dep_blocks_get(&b, BASE + i * 32) != 0;
		assert_true(!dep_blocks_get(&b, BASE + i * 32) ||
			    dep_blocks_get(&b, BASE + i * 32) == i + 1);
	}
	assert_in_range(n, DEP_BLOCKS / 4, DEP_BLOCKS);
	dep_blocks_free(&b);
}

static void count_often(struct dep_counters *c, u64 address, u32 thread)
{
	u32 i;

	for (i = 0; i < DEP_COUNTERS_OFTEN; i++)
		assert_false(dep_counters_count(c, address, 8, thread));
}

static void counters(void **unused)
{
	struct dep_counters c = { 0 };
	u32 i, n = 0;

	(void)unused;
	count_often(&c, WORD, 1);
	assert_true(dep_counters_count(&c, WORD, 8, 1));
	assert_true(dep_counters_count(&c, WORD, 4, 2));
	assert_false(dep_counters_count(&c, WORD + 4, 8, 1));
	assert_false(dep_counters_count(&c, 0, 8, 1));
	/* nobody reads it but one of them, at last many do */
	dep_counters_read(&c, WORD - 8, 8, 2);
	assert_true(dep_counters_count(&c, WORD, 8, 1));
	dep_counters_read(&c, WORD + 4, 4, 1);
	assert_true(dep_counters_count(&c, WORD, 8, 1));
	assert_false(dep_counters_count(&c, WORD, 8, 2));
	dep_counters_read(&c, WORD - 8, 16, 2);
	assert_false(dep_counters_count(&c, WORD, 8, 1));
	assert_false(dep_counters_count(&c, WORD, 8, 2));
	/* no more than there is room for */
	for (i = 1; i <= 2 * DEP_COUNTERS; i++) {
		count_often(&c, WORD + 64 * i, 1);
		n += dep_counters_count(&c, WORD + 64 * i, 8, 1);
	}
	assert_in_range(n, DEP_COUNTERS / 2, DEP_COUNTERS);
}

/* ---- one thread ---- */

/* What recovery does with a reference; what was put off comes at the end of a turn. */
static bool show(struct dep_sieve *s, u8 code, struct dep_ref *r)
{
	enum dep_sieved what = dep_sieve_first(s, code, r);

	if (r->type & DEP_REF_RELEASES)
		dep_sieve_turn(s);
	return what != DEP_SIEVED_OUT;
}

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
	/* a read says nothing of a write, and a write all of a read */
	assert_true(shows(&o, me, BASE, 4, DEP_WRITE));
	assert_false(shows(&o, me, BASE, 4, DEP_WRITE));
	assert_false(shows(&o, me, BASE, 4, DEP_MODIFY));
	assert_true(shows(&o, me, BASE + 16, 1, DEP_MODIFY));
	assert_false(shows(&o, me, BASE + 16, 1, DEP_READ));
	/* over the ends of granules, and many of them */
	assert_true(shows(&o, me, BASE + 6, 4, DEP_READ));
	assert_false(shows(&o, me, BASE + 6, 4, DEP_READ));
	assert_true(shows(&o, me, BASE + 64, 32, DEP_WRITE));
	assert_false(shows(&o, me, BASE + 65, 30, DEP_READ));
	assert_true(shows(&o, me, BASE + 65, 32, DEP_READ));
	/* others do the same for themselves */
	assert_true(shows(&o, DEP_CODE_LIBRARY, BASE, 4, DEP_READ));
	assert_false(shows(&o, DEP_CODE_LOADER, BASE, 4, DEP_READ));
	assert_true(shows(&o, me, BASE + 24, 4, DEP_READ));
	assert_false(shows(&o, DEP_CODE_CALLER, BASE + 24, 4, DEP_READ));
	/* more than there is room for to begin with */
	for (i = 0; i < 20000; i++)
		assert_true(shows(&o, me, BASE + 0x100000 + i * 8, 8, DEP_WRITE));
	for (i = 19000; i < 20000; i++)
		assert_false(shows(&o, me, BASE + 0x100000 + i * 8, 8, DEP_WRITE));
	/* the highest ones, and one that does not end */
	assert_true(shows(&o, me, 1ull << 47, 8, DEP_READ));
	assert_false(shows(&o, me, 1ull << 47, 8, DEP_READ));
	assert_true(shows(&o, me, ~0ull - 3, 4, DEP_READ));
	assert_false(shows(&o, me, ~0ull - 3, 4, DEP_READ));
	assert_true(shows(&o, me, ~0ull, 4, DEP_READ));
	assert_true(shows(&o, me, ~0ull, 4, DEP_READ));
	for (i = 0; i < 40000; i++) {
		dep_sieve_turn(&o.s);
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
	/* the first one behind a change is shown, whatever it is */
	assert_true(shows(&o, it, BASE + 8, 4, DEP_READ));
	assert_true(shows(&o, me, BASE, 4, DEP_READ));
	assert_false(shows(&o, me, BASE, 4, DEP_READ));
	assert_true(shows(&o, it, BASE + 8, 4, DEP_READ));
	assert_false(shows(&o, it, BASE + 8, 4, DEP_READ));
	/* what is done for one says nothing of what is done for the other */
	assert_true(shows(&o, DEP_CODE_CALLER, BASE, 4, DEP_READ));
	assert_false(shows(&o, DEP_CODE_LIBRARY, BASE, 4, DEP_READ));
	assert_true(shows(&o, me, BASE + 80, 4, DEP_READ));
	assert_true(shows(&o, DEP_CODE_LIBRARY, BASE, 4, DEP_READ));
	/* a list of mutexes that a library writes */
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
	dep_sieve_turn(&o.s);
	assert_true(dep_places_has(&o.locked, WORD, 4));
	assert_true(shows(&o, me, WORD, 4, DEP_READ));
	assert_true(shows(&o, me, WORD, 4, DEP_READ));
	assert_true(shows(&o, me, BASE, 4, DEP_READ));
	assert_false(shows(&o, me, BASE, 4, DEP_READ));
	/* what comes behind a write of it is new */
	assert_true(show(&o.s, me, &plain));
	assert_int_equal(plain.type, DEP_WRITE | DEP_REF_RELEASES);
	assert_true(shows(&o, me, BASE, 4, DEP_READ));
	/* its neighbour is any word */
	assert_true(shows(&o, me, WORD + 4, 4, DEP_WRITE));
	assert_false(shows(&o, me, WORD + 4, 4, DEP_WRITE));
	end_one(&o);
}

static void expect_put_off(struct one *o, u64 addr, u32 size, u32 type)
{
	struct dep_ref r;

	assert_true(dep_sieve_take(&o->s, &r, true));
	assert_int_equal(r.type, type);
	assert_true(r.addr == addr);
	assert_int_equal(r.size, size);
}

static u64 calls(struct one *o, u64 sp, u32 function, u64 a, u64 b, u8 code)
{
	const struct dep_passed passed = { .sp = sp, .value = { a, b } };
	const struct dep_function_call f = { .function = function, .known = 3, .passed = &passed };

	return dep_sieve_function(&o->s, &f, code);
}

static void returns(struct one *o, u64 sp, u64 result, bool known)
{
	const struct dep_passed passed = { .sp = sp + 8, .value = { result } };
	const struct dep_function_call f = { .is_return = true, .known = known, .passed = &passed };

	dep_sieve_function(&o->s, &f, DEP_CODE_PROGRAM);
}

static void put_off(void **unused)
{
	const u8 me = DEP_CODE_PROGRAM, it = DEP_CODE_LIBRARY, threads = DEP_CODE_THREADS;
	const u32 reads = DEP_READ | DEP_REF_JOINED, writes = DEP_WRITE | DEP_REF_JOINED;
	struct dep_ref r = { 1, WORD, 4, DEP_READ, 0 };
	struct one o;
	u32 i;

	(void)unused;
	begin_one(&o, false);
	o.scope.singly = false;
	/* the first one tells who it is, and does not count */
	for (i = 0; i <= DEP_SIEVE_SINGLY; i++)
		assert_true(shows(&o, me, BASE + i * 8, 4, DEP_READ));
	assert_false(dep_sieve_take(&o.s, &r, true));
	/* joined where they touch, over words, up to the end of a page; with what is around them */
	for (i = 0; i < 100; i++)
		assert_false(shows(&o, me, BASE + 0xfa0 + i, 1, DEP_READ));
	assert_false(shows(&o, me, BASE + 0xfb0, 8, DEP_WRITE));
	assert_false(shows(&o, me, BASE + 0xfb4, 8, DEP_MODIFY));
	assert_false(shows(&o, me, BASE, 4, DEP_READ));
	assert_false(shows(&o, it, BASE + 0x3000, 4, DEP_WRITE));
	/* These cannot wait: who makes threads, and what orders. */
	assert_true(shows(&o, threads, BASE + 0x4000, 4, DEP_READ));
	assert_true(shows(&o, me, BASE + 0x4100, 4, DEP_READ));
	assert_int_equal(dep_places_add(&o.locked, WORD, 4), 0);
	r = (struct dep_ref){ 1, WORD, 4, DEP_READ, 0 };
	assert_int_equal(dep_sieve_first(&o.s, me, &r), DEP_SIEVED_SHOW_BEHIND);
	r = (struct dep_ref){ 1, WORD, 4, DEP_WRITE, 0 };
	assert_int_equal(dep_sieve_first(&o.s, me, &r), DEP_SIEVED_SHOW_BEHIND);
	/* the last page first */
	expect_put_off(&o, BASE + 0x3000, 4, writes);
	expect_put_off(&o, BASE + 0x1000, 4, reads);
	expect_put_off(&o, BASE + 0xfb0, 12, writes);
	expect_put_off(&o, BASE + 0xfa0, 16, reads);
	expect_put_off(&o, BASE + 0xfbc, 0x44, reads);
	for (i = 0; i < DEP_SIEVE_LAST; i++)
		expect_put_off(&o, BASE + 0xfa0 + 100 - DEP_SIEVE_LAST + i, 1, DEP_READ);
	assert_false(dep_sieve_take(&o.s, &r, true));
	/* not in an allocator, which may make system calls */
	assert_false(shows(&o, me, BASE + 0x5000, 4, DEP_READ));
	expect_put_off(&o, BASE + 0x5000, 4, reads);
	calls(&o, 0x1000, DEP_F_MALLOC, 16, 0, it);
	assert_false(dep_sieve_take(&o.s, &r, true));
	returns(&o, 0x1000, BASE + 0x6000, true);
	expect_put_off(&o, BASE + 0x5000, 4, DEP_READ);
	/* once is enough; and in a new turn it begins anew */
	assert_false(shows(&o, me, BASE + 0xfa0, 16, DEP_READ));
	assert_false(dep_sieve_take(&o.s, &r, true));
	dep_sieve_turn(&o.s);
	assert_true(shows(&o, me, BASE + 0xfa0, 16, DEP_READ));
	end_one(&o);
}

/* More pages than are remembered: nothing of what was put off is lost. */
static void many_pages(void **unused)
{
	const u8 me = DEP_CODE_PROGRAM;
	struct dep_ref r;
	struct one o;
	u32 i, n = 0;

	(void)unused;
	begin_one(&o, false);
	o.scope.singly = false;
	for (i = 0; i < 20000; i++)
		n += shows(&o, me, BASE + i * 4096ul, 4, DEP_WRITE);
	assert_in_range(n, DEP_SIEVE_SINGLY, 19000);
	while (dep_sieve_take(&o.s, &r, true))
		n++;
	assert_int_equal(n, 20000);
	/* and again, since it is all forgotten by now */
	for (i = 0; i < 20000; i++)
		n += shows(&o, me, BASE + 0x10000000 + i * 4096ul, 4, DEP_WRITE);
	while (dep_sieve_take(&o.s, &r, true))
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
	/* What an allocator does is its own business; what it gives is new, and no more. */
	calls(&o, 0x1000, DEP_F_CALLOC, 2, 8, it);
	calls(&o, 0xf00, DEP_F_MALLOC, 16, 0, it);
	assert_false(shows(&o, it, BASE + 0x2000, 8, DEP_WRITE));
	dep_sieve_ticket(&o.s, 0);
	assert_false(shows(&o, it, BASE + 0x3000, 8, DEP_MODIFY));
	dep_sieve_ticket(&o.s, DEP_TK_BEHIND);
	assert_false(dep_places_has(&o.locked, BASE + 0x3000, 8));
	returns(&o, 0xf00, BASE, true);
	assert_false(shows(&o, it, BASE + 0x2000, 8, DEP_WRITE));
	returns(&o, 0x1000, BASE + 0x1000 - 8, true);
	assert_true(shows(&o, it, BASE + 0x2000, 8, DEP_WRITE));
	assert_false(shows(&o, me, BASE, 64, DEP_READ));
	assert_true(shows(&o, me, BASE + 0x1000 - 8, 4, DEP_READ));
	assert_true(shows(&o, me, BASE + 0x1000 + 4, 4, DEP_READ));
	assert_false(shows(&o, me, BASE + 0x1000 - 8, 4, DEP_READ));
	/* Who goes on with what it has freed is seen to; also where it is not known what is new. */
	assert_true(calls(&o, 0x1000, DEP_F_FREE, BASE, 0, it) == DEP_SIEVE_ALL_OF_IT);
	returns(&o, 0x1000, 0, false);
	assert_true(shows(&o, me, BASE, 64, DEP_READ));
	assert_false(shows(&o, me, BASE, 64, DEP_READ));
	calls(&o, 0x1000, DEP_F_REALLOC, BASE, 64, it);
	returns(&o, 0x1000, BASE + 0x100, true);
	assert_true(shows(&o, me, BASE, 64, DEP_READ));
	assert_false(shows(&o, me, BASE, 64, DEP_READ));
	/* Of a block it is known, but only once; and what realloc() gave back is another's. */
	calls(&o, 0x1000, DEP_F_MALLOC, 24, 0, it);
	returns(&o, 0x1000, BASE + 0x200, true);
	assert_true(shows(&o, me, BASE + 0x200, 40, DEP_WRITE));
	assert_int_equal(calls(&o, 0x1000, DEP_F_FREE, BASE + 0x200, 0, it), 24);
	returns(&o, 0x1000, 0, false);
	assert_false(shows(&o, me, BASE, 64, DEP_READ));
	assert_false(shows(&o, me, BASE + 0x218, 16, DEP_WRITE));
	assert_true(shows(&o, me, BASE + 0x210, 8, DEP_READ));
	assert_true(calls(&o, 0x1000, DEP_F_FREE, BASE + 0x200, 0, it) == DEP_SIEVE_ALL_OF_IT);
	returns(&o, 0x1000, 0, false);
	calls(&o, 0x1000, DEP_F_REALLOC, BASE + 0x100, 128, it);
	returns(&o, 0x1000, BASE + 0x300, true);
	assert_true(calls(&o, 0x1000, DEP_F_FREE, BASE + 0x100, 0, it) == DEP_SIEVE_ALL_OF_IT);
	returns(&o, 0x1000, 0, false);
	assert_true(shows(&o, me, BASE, 64, DEP_READ));
	assert_int_equal(calls(&o, 0x1000, DEP_F_FREE, BASE + 0x300, 0, it), 128);
	returns(&o, 0x1000, 0, false);
	assert_false(shows(&o, me, BASE, 64, DEP_READ));
	/* NULL is no block. */
	calls(&o, 0x1000, DEP_F_FREE, 0, 0, it);
	returns(&o, 0x1000, 0, false);
	assert_false(shows(&o, me, BASE, 64, DEP_READ));
	/* The rest of a block is new to who asks how much it has. */
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
	/* Others order; and who comes from nowhere may have done so, if that is not known. */
	calls(&o, 0x1000, DEP_F_MUTEX_LOCK, BASE, 0, it);
	assert_true(shows(&o, me, BASE, 64, DEP_READ));
	returns(&o, 0x1000, 0, true);
	assert_true(shows(&o, me, BASE, 64, DEP_READ));
	returns(&o, 0x1000, 0, true);
	assert_false(shows(&o, me, BASE, 64, DEP_READ));
	dep_sieve_left(&o.s);
	returns(&o, 0x1000, 0, true);
	assert_false(shows(&o, me, BASE, 64, DEP_READ));
	calls(&o, 0x1000, DEP_F_MALLOC, 16, 0, it);
	dep_sieve_left(&o.s);
	returns(&o, 0x1000, 0, true);
	assert_true(shows(&o, me, BASE, 64, DEP_READ));
	/* The program's code in a library's function: it was left by longjmp(). */
	calls(&o, 0x1000, DEP_F_MALLOC, 16, 0, it);
	assert_false(shows(&o, it, BASE + 0x4000, 8, DEP_WRITE));
	assert_true(shows(&o, me, BASE + 0x4000, 8, DEP_WRITE));
	assert_true(shows(&o, it, BASE + 0x4010, 8, DEP_WRITE));
	/* An allocator that is the program's own; too many calls to know */
	calls(&o, 0x1000, DEP_F_MALLOC, 16, 0, me);
	assert_false(shows(&o, me, BASE + 0x5000, 8, DEP_WRITE));
	for (u32 i = 1; i < DEP_SIEVE_CALLS; i++)
		calls(&o, 0x1000 - 16 * i, DEP_F_MUTEX_LOCK, BASE, 0, me);
	assert_false(shows(&o, me, BASE + 0x5000, 8, DEP_WRITE));
	calls(&o, 0x100, DEP_F_MUTEX_LOCK, BASE, 0, me);
	assert_true(shows(&o, me, BASE + 0x5000, 8, DEP_WRITE));
	end_one(&o);
}

/* The first instruction behind a call may be a locked one: its ticket comes before the return. */
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
		dep_sieve_ticket(&o.s, 0);
		/* Or it comes from there by longjmp(). */
		if (!i)
			returns(&o, 0x1000, BASE + 0x100, true);
		assert_true(shows(&o, me, WORD, 4, DEP_MODIFY));
		dep_sieve_ticket(&o.s, DEP_TK_BEHIND);
		assert_true(dep_places_has(&o.locked, WORD, 4));
		assert_true(shows(&o, me, BASE, 64, DEP_READ));
		assert_false(shows(&o, me, BASE, 64, DEP_READ));
		/* The allocator's own is over by then. */
		calls(&o, 0x1000, DEP_F_MALLOC, 16, 0, it);
		dep_sieve_ticket(&o.s, 0);
		dep_sieve_ticket(&o.s, DEP_TK_BEHIND);
		returns(&o, 0x1000, BASE + 0x100, true);
		assert_false(shows(&o, me, BASE, 64, DEP_READ));
		end_one(&o);
	}
}

static u32 count_in(struct one *o, u8 code, u64 address, u32 how)
{
	struct dep_ref r = { 1, address, 8, DEP_MODIFY, 0 };

	dep_sieve_ticket(&o->s, how);
	assert_true(show(&o->s, code, &r));
	dep_sieve_ticket(&o->s, DEP_TK_BEHIND);
	return r.type;
}

static void counting(void **unused)
{
	const u32 counts = DEP_TK_COUNTS | DEP_TK_BLIND, is_one = DEP_MODIFY | DEP_REF_COUNTS;
	const u8 me = DEP_CODE_PROGRAM;
	struct one o;
	u32 i;

	(void)unused;
	begin_one(&o, false);
	o.scope.singly = false;
	for (i = 0; i < DEP_COUNTERS_OFTEN; i++) {
		shows(&o, me, BASE, 4, DEP_READ);
		assert_int_equal(count_in(&o, me, WORD, counts), DEP_MODIFY);
		assert_true(shows(&o, me, BASE, 4, DEP_READ));
	}
	assert_int_equal(count_in(&o, me, WORD, counts), is_one);
	assert_false(shows(&o, me, BASE, 4, DEP_READ));
	/* only such an instruction, when it is known who is at work */
	assert_int_equal(count_in(&o, me, WORD, DEP_TK_BLIND), DEP_MODIFY);
	assert_int_equal(count_in(&o, me, WORD, counts), DEP_MODIFY);
	assert_true(shows(&o, me, BASE, 4, DEP_READ));
	assert_int_equal(count_in(&o, DEP_CODE_THREADS, WORD, counts), DEP_MODIFY);
	assert_true(shows(&o, me, BASE, 4, DEP_READ));
	assert_int_equal(count_in(&o, me, WORD, counts), is_one);
	/* whatever comes in between */
	dep_sieve_ticket(&o.s, counts);
	dep_sieve_ticket(&o.s, DEP_TK_BEHIND);
	assert_true(shows(&o, me, BASE, 4, DEP_READ));
	/* it may read it, but not others */
	assert_true(shows(&o, me, WORD, 4, DEP_READ));
	assert_int_equal(count_in(&o, me, WORD, counts), is_one);
	dep_counters_read(&o.counters, WORD, 4, 2);
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
	assert_int_equal(o.spun.words, 0);
	for (i = 0; i < 40; i++)
		shows(&o, me, WORD, 4, DEP_READ);
	assert_int_equal(o.spun.words, 1);
	assert_true(dep_places_has(&o.spun, WORD, 4));
	end_one(&o);
}

static void wanted_ones(void **unused)
{
	const u8 me = DEP_CODE_PROGRAM;
	struct one o;
	u32 i;

	(void)unused;
	begin_one(&o, true);
	assert_int_equal(dep_places_add(&o.wanted, BASE, 4), 0);
	assert_true(dep_sieve_wants(&o.s, me, BASE + 64, 4, DEP_READ));
	for (i = 0; i < 3; i++) {
		assert_false(dep_sieve_wants(&o.s, me, BASE + 64, 4, DEP_READ));
		assert_false(dep_sieve_wants(&o.s, me, BASE + 4, 4, DEP_READ));
		assert_true(dep_sieve_wants(&o.s, me, BASE, 1, DEP_READ));
		assert_true(dep_sieve_wants(&o.s, me, BASE - 60, 64, DEP_READ));
		assert_true(dep_sieve_wants(&o.s, me, BASE - 4096, 8192, DEP_READ));
	}
	assert_true(dep_sieve_wants(&o.s, DEP_CODE_THREADS, BASE + 64, 4, DEP_READ));
	assert_true(dep_sieve_wants(&o.s, me, BASE + 64, 4, DEP_READ));
	o.s.all = true;
	assert_true(dep_sieve_wants(&o.s, me, BASE + 64, 4, DEP_READ));
	end_one(&o);
}

/* ---- executions ---- */

struct bytes {
	u8 raced[BYTES];
};

static void note(void *arg, const struct race_found *f)
{
	struct bytes *b = arg;
	u32 i;

	for (i = 0; i < f->size; i++)
		b->raced[f->address + i - BASE] = 1;
}

/** struct execution - one detector sees all of it, the other what is left */
struct execution {
	struct bytes all, left;
	struct race_detector *d[2];
	struct race_sync lock[2][LOCKS], counter[2][COUNTERS];
	u32 size[BLOCKS];		/* of what is allocated */
	u32 index[2][THREADS];
	struct one place;		/* its sieve is not used */
	struct dep_sieve sieve[THREADS];
	u64 shown, seen, counted;
};

static void note_forgotten(void *arg, u64 address, u32 size)
{
	struct bytes *b = arg;
	u32 i;

	for (i = 0; i < size; i++)
		if (address + i - BASE < BYTES)
			b->raced[address + i - BASE] = 1;
}

static void begin_execution(struct execution *x)
{
	const struct race_options o = { .mode = RACE_HB_ONLY };
	u32 i, k;

	memset(x, 0, sizeof(*x));
	begin_one(&x->place, false);
	for (k = 0; k < 2; k++) {
		const struct race_ops ops = {
			.report = note, .arg = k ? &x->left : &x->all,
			.forgotten = k ? note_forgotten : NULL,
		};

		assert_int_equal(race_detector_create(&x->d[k], &ops, &o), 0);
		for (i = 0; i < THREADS; i++)
			assert_int_equal(race_thread_begin(x->d[k], i ? x->index[k][0] :
							   RACE_NO_THREAD, &x->index[k][i]), 0);
	}
	for (i = 0; i < THREADS; i++)
		assert_int_equal(dep_sieve_init(&x->sieve[i], &x->place.scope, i + 1), 0);
	/* One that was counted in before. */
	for (i = 0; i < DEP_COUNTERS_OFTEN; i++)
		dep_counters_count(&x->place.counters, COUNTER, 8, 1);
}

static void end_execution(struct execution *x)
{
	u32 i, k;

	for (k = 0; k < 2; k++) {
		for (i = 0; i < LOCKS; i++)
			race_sync_free(x->d[k], &x->lock[k][i]);
		for (i = 0; i < COUNTERS; i++)
			race_sync_free(x->d[k], &x->counter[k][i]);
		race_detector_free(x->d[k]);
	}
	for (i = 0; i < THREADS; i++)
		dep_sieve_free(&x->sieve[i]);
	end_one(&x->place);
}

static void access_byte(struct execution *x, u32 t)
{
	static const u32 types[] = { DEP_READ, DEP_READ, DEP_WRITE, DEP_MODIFY };
	u32 type = types[rnd() % 4], size = 1u << rnd() % 4;
	u64 address = BASE + rnd() % (BYTES - 16);
	u32 flags = type, pc = rnd() % 50;
	struct dep_ref r;
	u64 bits;

	if (rnd() % 16 == 0)
		size = 1 + rnd() % 16;
	race_access(x->d[0], x->index[0][t], pc, address, size, flags);
	x->seen++;
	r = (struct dep_ref){ pc, address, size, (u16)type, 0 };
	/* Most of what can be put off is. */
	if (rnd() % 4)
		x->sieve[t].singly = DEP_SIEVE_SINGLY;
	/* as machine code does */
	bits = ~0ull >> (64 - size);
	if (rnd() % 2 && dep_sieve_later_near(&x->sieve[t], DEP_CODE_PROGRAM, pc, address,
					      type & DEP_WRITE ? 0 : bits,
					      type & DEP_WRITE ? bits : 0))
		return;
	if (!show(&x->sieve[t], DEP_CODE_PROGRAM, &r))
		return;
	x->shown++;
	race_access(x->d[1], x->index[1][t], pc, r.addr, r.size, flags);
}

static void show_joined(struct execution *x, u32 t, bool last)
{
	struct dep_ref r;

	while (dep_sieve_take(&x->sieve[t], &r, last)) {
		x->shown++;
		race_access(x->d[1], x->index[1][t], r.pc, r.addr, r.size, r.type & DEP_MODIFY);
	}
}

static void show_put_off(struct execution *x, u32 t)
{
	show_joined(x, t, true);
}

/* By a locked instruction, or by plain ones of a word that is known. */
static void synchronise(struct execution *x, u32 t)
{
	u32 l = rnd() % LOCKS, k;
	struct dep_ref r = { 1, WORD + 4 * l, 4, DEP_WRITE, 0 };
	bool plain = rnd() % 2;

	if (!plain) {
		show_put_off(x, t);
		dep_sieve_ticket(&x->sieve[t], 0);
		r.type = DEP_MODIFY;
		assert_int_equal(dep_sieve_first(&x->sieve[t], DEP_CODE_PROGRAM, &r),
				 DEP_SIEVED_SHOW);
	} else if (dep_sieve_first(&x->sieve[t], DEP_CODE_PROGRAM, &r) ==
		   DEP_SIEVED_SHOW_BEHIND) {
		show_put_off(x, t);
		dep_sieve_turn(&x->sieve[t]);
	}
	/* What it was not known to do is not done. */
	for (k = 0; k < 2; k++) {
		if (k && plain && !(r.type & DEP_REF_RELEASES))
			continue;
		if (!plain)
			race_acquire(x->d[k], x->index[k][t], &x->lock[k][l]);
		race_release(x->d[k], x->index[k][t], &x->lock[k][l]);
	}
	if (!plain)
		dep_sieve_ticket(&x->sieve[t], DEP_TK_BEHIND);
}

/* By a locked instruction that counts, or another one of the same word, or a plain read. */
static void count(struct execution *x, u32 t)
{
	static const u32 hows[] = { 0, DEP_TK_COUNTS, DEP_TK_COUNTS | DEP_TK_BLIND };
	u32 how = hows[rnd() % 3], l = rnd() % COUNTERS, k;
	struct dep_ref r = { 1, COUNTER + 8 * l, 8, DEP_READ, 0 };
	bool plain = rnd() % 16 == 0, shown;

	show_joined(x, t, false);
	if (!plain) {
		dep_sieve_ticket(&x->sieve[t], how);
		r.type = DEP_MODIFY;
	}
	shown = dep_sieve_first(&x->sieve[t], DEP_CODE_PROGRAM, &r) != DEP_SIEVED_OUT;
	show_joined(x, t, false);
	for (k = 0; k < 2; k++) {
		if (!(how & DEP_TK_BLIND) && (!k || shown))
			race_acquire(x->d[k], x->index[k][t], &x->counter[k][l]);
		if (!plain && !(k && r.type & DEP_REF_COUNTS))
			race_release(x->d[k], x->index[k][t], &x->counter[k][l]);
	}
	x->counted += (r.type & DEP_REF_COUNTS) != 0;
	if (!plain)
		dep_sieve_ticket(&x->sieve[t], DEP_TK_BEHIND);
}

static u64 call_it(struct execution *x, u32 t, u32 function, u64 a, u64 result)
{
	struct dep_passed passed = { .sp = 0x1000, .value = { a } };
	struct dep_function_call f = { .function = function, .known = 1, .passed = &passed };
	u64 again;

	show_joined(x, t, false);
	again = dep_sieve_function(&x->sieve[t], &f, DEP_CODE_LIBRARY);
	passed = (struct dep_passed){ .sp = 0x1008, .value = { result } };
	f = (struct dep_function_call){ .is_return = 1, .known = 1, .passed = &passed };
	dep_sieve_function(&x->sieve[t], &f, DEP_CODE_PROGRAM);
	return again;
}

static void forget(struct execution *x, u32 t, u64 address, u64 size)
{
	u32 k;

	/* Nobody comes between what a thread does and when that is shown. */
	for (k = 0; k < THREADS; k++)
		show_joined(x, k, false);
	for (k = 0; k < 2; k++)
		assert_int_equal(race_forget_by(x->d[k], x->index[k][t], address, size), 0);
}

/* Whoever comes frees what there is, goes on with it, or gets it although it is there. */
static void use_heap(struct execution *x, u32 t)
{
	u32 b = rnd() % BLOCKS, size = 1 + rnd() % BLOCK, k;
	u64 address = BASE + BLOCK * b, again;

	switch (rnd() % 4) {
	case 0:
		call_it(x, t, DEP_F_MALLOC, size, address);
		forget(x, t, address, size);
		x->size[b] = size;
		break;
	case 1:
		size = size > x->size[b] ? size : x->size[b];
		call_it(x, t, DEP_F_MALLOC_USABLE_SIZE, address, size);
		if (!x->size[b])
			break;
		forget(x, t, address + x->size[b], size - x->size[b]);
		x->size[b] = size;
		break;
	default:
		again = call_it(x, t, DEP_F_FREE, address, 0);
		for (k = 0; k < 2 && x->size[b]; k++)
			race_access(x->d[k], x->index[k][t], 1, address, x->size[b],
				    RACE_WRITE | RACE_FREE);
		for (; again < x->size[b]; again++)
			x->left.raced[address + again - BASE] = 1;
		x->size[b] = 0;
	}
}

static void executions(void **unused)
{
	u64 n = from_env("ADEPT_TEST_COUNT", 3000), raced = 0, shown = 0, seen = 0, counted = 0;
	struct execution x;
	u32 i, rate;
	bool heap;

	(void)unused;
	rnd_state = from_env("ADEPT_TEST_SEED", (u64)time(NULL));
	printf("seed %llu\n", (unsigned long long)rnd_state);
	while (n--) {
		begin_execution(&x);
		x.place.scope.singly = rnd() % 2;
		rate = 2 + rnd() % 30;
		heap = rnd() % 2;
		for (i = 0; i < 400; i++) {
			if (rnd() % rate == 0)
				synchronise(&x, rnd() % THREADS);
			else if (rnd() % rate == 0)
				count(&x, rnd() % THREADS);
			else if (heap && rnd() % 8 == 0)
				use_heap(&x, rnd() % THREADS);
			else
				access_byte(&x, rnd() % THREADS);
		}
		for (i = 0; i < THREADS; i++)
			show_put_off(&x, i);
		for (i = 0; i < BYTES; i++) {
			raced += x.all.raced[i];
			/* never less; more where a word was not known in time */
			assert_true(!x.all.raced[i] || x.left.raced[i]);
		}
		shown += x.shown;
		seen += x.seen;
		counted += x.counted;
		end_execution(&x);
	}
	assert_true(raced > 0);
	assert_true(shown < seen);
	assert_true(counted > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places),
		cmocka_unit_test(blocks),
		cmocka_unit_test(counters),
		cmocka_unit_test(first_ones),
		cmocka_unit_test(who_it_was),
		cmocka_unit_test(what_orders),
		cmocka_unit_test(put_off),
		cmocka_unit_test(many_pages),
		cmocka_unit_test(in_functions),
		cmocka_unit_test(locked_behind_call),
		cmocka_unit_test(counting),
		cmocka_unit_test(waiting),
		cmocka_unit_test(wanted_ones),
		cmocka_unit_test(executions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
