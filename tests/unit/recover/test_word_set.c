// SPDX-License-Identifier: GPL-2.0-or-later
/* State of filters by address: word sets, sizes of blocks, atomic counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "libdep/recover/filter/heap_blocks.h"
#include "libdep/recover/filter/atomic_counters.h"
#include "libdep/recover/filter/word_set.h"

#define BASE	0x7f0000001000ull
#define WORD	0x7f0000005000ull

static int count_words(void *arg, u64 address, u64 size)
{
	(void)address;
	*(u64 *)arg += size / 4;
	return 0;
}

static void places(void **unused)
{
	struct dep_word_set p;
	u64 i, at, n = 0;

	(void)unused;
	dep_word_set_init(&p);
	assert_false(dep_word_set_has(&p, 0, 8));
	/* enough pages to make the table grow */
	for (i = 0; i < 5000; i++)
		assert_int_equal(dep_word_set_add(&p, i * 40000, 4), 0);
	for (i = 0; i < 5000; i++) {
		at = i * 40000;
		assert_true(dep_word_set_has(&p, at, 1));
		assert_true(dep_word_set_has(&p, at + 3, 1));
		assert_true(dep_word_set_has(&p, i ? at - 5 : 0, 100));
		assert_true(dep_word_set_maybe(&p, at));
		assert_false(dep_word_set_has(&p, at + 4, 8));
		assert_false(dep_word_set_has(&p, at - 8, 8));
	}
	/* twice is once */
	assert_int_equal(dep_word_set_add(&p, 0, 4), 0);
	assert_int_equal(dep_word_set_each(&p, count_words, &n), 0);
	assert_int_equal(n, 5000);
	assert_int_equal(p.words, 5000);
	/* across pages, and parts of words */
	assert_int_equal(dep_word_set_add(&p, 0xfffffffffffff002, 4), 0);
	assert_true(dep_word_set_has(&p, 0xfffffffffffff000, 1));
	assert_true(dep_word_set_has(&p, 0xfffffffffffff004, 1));
	assert_false(dep_word_set_has(&p, 0xfffffffffffff008, 100000));
	assert_int_equal(dep_word_set_add(&p, 0x10000ffe, 0x1004), 0);
	assert_true(dep_word_set_has(&p, 0x10002000, 1));
	assert_false(dep_word_set_has(&p, 0x10002004, 1));
	dep_word_set_free(&p);
}

static void blocks(void **unused)
{
	struct dep_heap_sizes b = { 0 };
	u64 i, n = 0;

	(void)unused;
	assert_int_equal(dep_heap_sizes_get(&b, BASE), 0);
	dep_heap_sizes_set(&b, BASE, 24);
	assert_int_equal(dep_heap_sizes_get(&b, BASE), 24);
	assert_int_equal(dep_heap_sizes_get(&b, BASE + 8), 0);
	assert_int_equal(dep_heap_sizes_get(&b, BASE + 1), 0);
	assert_int_equal(dep_heap_sizes_get(&b, BASE | 1ull << 47), 0);
	/* a block that does not fit is forgotten */
	dep_heap_sizes_set(&b, BASE, 1 << 20);
	assert_int_equal(dep_heap_sizes_get(&b, BASE), 0);
	dep_heap_sizes_set(&b, BASE, (1 << 20) - 1);
	assert_int_equal(dep_heap_sizes_get(&b, BASE), (1 << 20) - 1);
	dep_heap_sizes_remove(&b, BASE);
	assert_int_equal(dep_heap_sizes_get(&b, BASE), 0);
	dep_heap_sizes_set(&b, BASE + 4, 24);
	assert_int_equal(dep_heap_sizes_get(&b, BASE + 4), 0);
	dep_heap_sizes_set(&b, BASE, 0);
	assert_int_equal(dep_heap_sizes_get(&b, BASE), 0);
	for (i = 0; i < 3 * DEP_BLOCKS; i++)
		dep_heap_sizes_set(&b, BASE + i * 32, i + 1);
	for (i = 0; i < 3 * DEP_BLOCKS; i++) {
		n += dep_heap_sizes_get(&b, BASE + i * 32) != 0;
		assert_true(!dep_heap_sizes_get(&b, BASE + i * 32) ||
			    dep_heap_sizes_get(&b, BASE + i * 32) == i + 1);
	}
	assert_in_range(n, DEP_BLOCKS / 4, DEP_BLOCKS);
	dep_heap_sizes_free(&b);
}

static void count_often(struct dep_atomic_counters *c, u64 address, u32 thread)
{
	u32 i;

	for (i = 0; i < DEP_ATOMIC_COUNTERS_OFTEN; i++)
		assert_false(dep_atomic_counters_count(c, address, 8, thread));
}

static void counters(void **unused)
{
	struct dep_atomic_counters c = { 0 };
	u32 i, n = 0;

	(void)unused;
	count_often(&c, WORD, 1);
	assert_true(dep_atomic_counters_count(&c, WORD, 8, 1));
	assert_true(dep_atomic_counters_count(&c, WORD, 4, 2));
	assert_false(dep_atomic_counters_count(&c, WORD + 4, 8, 1));
	assert_false(dep_atomic_counters_count(&c, 0, 8, 1));
	/* only the counting thread reads it, then many do */
	dep_atomic_counters_read(&c, WORD - 8, 8, 2);
	assert_true(dep_atomic_counters_count(&c, WORD, 8, 1));
	dep_atomic_counters_read(&c, WORD + 4, 4, 1);
	assert_true(dep_atomic_counters_count(&c, WORD, 8, 1));
	assert_false(dep_atomic_counters_count(&c, WORD, 8, 2));
	dep_atomic_counters_read(&c, WORD - 8, 16, 2);
	assert_false(dep_atomic_counters_count(&c, WORD, 8, 1));
	assert_false(dep_atomic_counters_count(&c, WORD, 8, 2));
	/* not more than the capacity */
	for (i = 1; i <= 2 * DEP_ATOMIC_COUNTERS; i++) {
		count_often(&c, WORD + 64 * i, 1);
		n += dep_atomic_counters_count(&c, WORD + 64 * i, 8, 1);
	}
	assert_in_range(n, DEP_ATOMIC_COUNTERS / 2, DEP_ATOMIC_COUNTERS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places),
		cmocka_unit_test(blocks),
		cmocka_unit_test(counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
