// SPDX-License-Identifier: GPL-2.0-or-later
/* The race detector with handwritten cases.  test_races.c has random ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>

#include <cmocka.h>

#include "libdep/analyze/races/internal.h"
#include "libdep/analyze/races/race_table.h"

#define X	0x10000u

static struct race_detector *d;
static struct race_rows *rows;

static void begin(u32 mode, u32 places)
{
	struct race_options o = { .places = places, .mode = mode };
	struct race_ops ops = { .report = race_rows_report };

	rows = race_rows_create();
	assert_non_null(rows);
	ops.arg = rows;
	assert_int_equal(race_detector_create(&d, &ops, &o), 0);
}

static int end(void **state)
{
	(void)state;
	race_detector_free(d);
	race_rows_free(rows);
	d = NULL;
	rows = NULL;
	return 0;
}

static u32 thread(u32 parent)
{
	u32 t = 77;

	assert_int_equal(race_thread_begin(d, parent, &t), 0);
	return t;
}

/* Create a main thread, number 0, and its children 1 to @n. */
static void threads(u32 n)
{
	assert_int_equal(thread(RACE_NO_THREAD), 0);
	while (n--)
		thread(0);
}

static void rd(u32 t, u64 pc, u64 address, u32 size)
{
	assert_int_equal(race_access(d, t, pc, address, size, RACE_READ), 0);
}

static void wr(u32 t, u64 pc, u64 address, u32 size)
{
	assert_int_equal(race_access(d, t, pc, address, size, RACE_WRITE), 0);
}

static void at(u32 t, u64 pc, u64 address, u32 size, u32 flags)
{
	assert_int_equal(race_access(d, t, pc, address, size, flags | RACE_ATOMIC), 0);
}

/* Return the count of the row with these pcs, and check its first address; 0: there is none. */
static u64 row(u64 prior, u64 current, u64 address, u32 size)
{
	const struct race_row *r;
	u32 i;

	for (i = 0; i < race_rows_count(rows); i++) {
		r = race_rows_get(rows, i);
		if (r->first.prior.pc != prior || r->first.current.pc != current)
			continue;
		assert_int_equal(r->first.address, address);
		assert_int_equal(r->first.size, size);
		return r->count;
	}
	return 0;
}

static void none(void)
{
	assert_int_equal(race_rows_count(rows), 0);
}

static void write_write(void **state)
{
	const struct race_found *f;

	(void)state;
	begin(0, 0);
	threads(2);
	wr(1, 10, X, 4);
	none();
	wr(2, 20, X + 2, 4);
	assert_int_equal(race_rows_count(rows), 1);
	f = &race_rows_get(rows, 0)->first;
	assert_int_equal(f->address, X + 2);
	assert_int_equal(f->size, 2);
	assert_int_equal(f->prior.thread, 1);
	assert_int_equal(f->prior.pc, 10);
	assert_int_equal(f->prior.flags, RACE_WRITE);
	assert_int_equal(f->current.thread, 2);
	assert_int_equal(f->current.pc, 20);
	assert_int_equal(f->prior.epoch >> 16, race_epoch(d, 1) >> 16);
	assert_int_equal(f->current.epoch, race_epoch(d, 2));
}

static void same_bytes_only(void **state)
{
	u32 i;

	(void)state;
	begin(0, 0);
	threads(2);
	for (i = 0; i < 64; i += 2) {
		wr(1, 10, X + i, 1);
		wr(2, 20, X + i + 1, 1);
	}
	wr(1, 11, X + 100, 28);
	wr(2, 21, X + 128, 300);
	wr(1, 12, X + 428, 3);
	none();
	rd(2, 22, X + 430, 16);
	assert_int_equal(row(12, 22, X + 430, 1), 1);
}

static void locked(void **state)
{
	struct race_sync s = { 0 };
	u32 i, t;

	(void)state;
	begin(0, 0);
	threads(4);
	for (i = 0; i < 1000; i++) {
		t = i % 4 + 1;
		assert_int_equal(race_acquire(d, t, &s), 0);
		rd(t, t * 10, X, 8);
		wr(t, t * 10 + 1, X, 8);
		assert_int_equal(race_release_store(d, t, &s), 0);
	}
	none();
	/* One thread does not lock. */
	wr(0, 1, X, 8);
	assert_int_equal(row(41, 1, X, 8), 1);
	race_sync_free(d, &s);
}

static void fork_and_join(void **state)
{
	u32 t, i;

	(void)state;
	begin(0, 0);
	threads(0);
	for (i = 0; i < 100; i++) {
		wr(0, 1, X, 8);
		t = thread(0);
		wr(t, 2, X, 8);
		race_thread_end(d, t);
		assert_int_equal(race_thread_join(d, 0, t), 0);
		rd(0, 3, X, 8);
	}
	none();
	t = thread(0);
	wr(0, 4, X, 8);
	wr(t, 5, X, 8);
	assert_int_equal(row(4, 5, X, 8), 1);
}

static void atomics(void **state)
{
	(void)state;
	begin(0, 0);
	threads(2);
	at(1, 10, X, 8, RACE_READ | RACE_WRITE);
	at(2, 20, X, 8, RACE_READ | RACE_WRITE);
	at(2, 21, X, 4, RACE_WRITE);
	at(1, 11, X, 8, RACE_READ);
	none();
	rd(2, 22, X, 8);
	assert_int_equal(row(10, 22, X, 8), 1);
	wr(1, 12, X + 64, 8);
	at(2, 23, X + 64, 8, RACE_READ);
	assert_int_equal(row(12, 23, X + 64, 8), 1);
}

/* A write that races with readers at several pcs: all pairs are found. */
static void all_readers(void **state)
{
	u32 t;

	(void)state;
	begin(RACE_HB_ONLY, 0);
	threads(5);
	for (t = 1; t < 5; t++)
		rd(t, t * 10, X, 8);
	wr(5, 50, X, 8);
	for (t = 1; t < 5; t++)
		assert_int_equal(row(t * 10, 50, X, 8), 1);
	/* From here on all pcs are kept, even several of one interval. */
	wr(5, 51, X, 8);
	wr(5, 52, X, 8);
	rd(1, 11, X, 8);
	assert_int_equal(row(50, 11, X, 8), 1);
	assert_int_equal(row(51, 11, X, 8), 1);
	assert_int_equal(row(52, 11, X, 8), 1);
}

static void keep_all(void **state)
{
	(void)state;
	begin(RACE_KEEP_ALL, 0);
	threads(2);
	wr(1, 10, X, 8);
	wr(1, 11, X, 4);
	rd(1, 12, X + 2, 8);
	wr(2, 20, X, 16);
	assert_int_equal(row(10, 20, X, 8), 1);
	assert_int_equal(row(11, 20, X, 4), 1);
	assert_int_equal(row(12, 20, X + 2, 8), 1);
	assert_int_equal(race_rows_count(rows), 3);
}

static void places(void **state)
{
	(void)state;
	begin(0, 3);
	threads(2);
	wr(1, 10, X, 8);
	wr(1, 11, X, 8);
	wr(1, 12, X, 8);
	wr(1, 13, X, 8);
	wr(2, 20, X, 8);
	assert_int_equal(race_rows_count(rows), 3);
	assert_int_equal(row(12, 20, X, 8), 1);
}

/* A read that saw a racy write is ordered after it, but not after later writes. */
static void shb(void **state)
{
	(void)state;
	begin(0, 0);
	threads(3);
	wr(1, 10, X + 64, 8);		/* data */
	wr(1, 11, X, 1);		/* ready */
	wr(1, 12, X + 128, 8);		/* afterwards */
	rd(2, 20, X, 1);
	assert_int_equal(row(11, 20, X, 1), 1);
	rd(2, 21, X + 64, 8);
	assert_int_equal(race_rows_count(rows), 1);
	rd(2, 22, X + 128, 8);
	assert_int_equal(row(12, 22, X + 128, 8), 1);
	/* The edge orders no other thread. */
	rd(3, 30, X + 64, 8);
	assert_int_equal(row(10, 30, X + 64, 8), 1);
}

/* The edge has the writer's clock at the time of the write, without later acquires. */
static void shb_as_of_then(void **state)
{
	struct race_sync a = { 0 }, b = { 0 };

	(void)state;
	begin(0, 0);
	threads(4);
	wr(3, 30, X + 64, 8);
	race_release_store(d, 3, &a);
	wr(4, 40, X + 128, 8);
	race_release_store(d, 4, &b);
	race_acquire(d, 1, &a);
	wr(1, 10, X, 8);
	race_acquire(d, 1, &b);
	rd(2, 20, X, 8);
	assert_int_equal(race_rows_count(rows), 1);
	rd(2, 21, X + 64, 8);
	assert_int_equal(race_rows_count(rows), 1);
	rd(2, 22, X + 128, 8);
	assert_int_equal(row(40, 22, X + 128, 8), 1);
	race_sync_free(d, &a);
	race_sync_free(d, &b);
}

static void forgotten(void **state)
{
	(void)state;
	begin(0, 0);
	threads(2);
	wr(1, 10, X - 20, 100000);
	race_forget(d, X - 13, 99987);
	wr(2, 20, X - 13, 99987);
	none();
	wr(2, 21, X - 14, 2);
	assert_int_equal(row(10, 21, X - 14, 1), 1);
	wr(1, 11, X + 99987 - 13, 6);
	assert_int_equal(race_rows_count(rows), 1);
}

static u64 effect_first, effect_bytes;

static void tell(void *arg, u64 address, u32 size)
{
	(void)arg;
	effect_first = effect_bytes ? effect_first : address;
	effect_bytes += size;
}

static u64 told(void)
{
	u64 n = effect_bytes;

	effect_bytes = 0;
	return n;
}

/* race_ops.forgotten reports the bytes that a thread may access again unseen by its filter. */
static void forgotten_at_work(void **state)
{
	const struct race_ops ops = { .forgotten = tell };
	const struct race_options o = { .mode = RACE_HB_ONLY };
	struct race_sync a = { 0 };
	struct race_detector *f;
	u32 one, two;

	(void)state;
	assert_int_equal(race_detector_create(&f, &ops, &o), 0);
	assert_int_equal(race_thread_begin(f, RACE_NO_THREAD, &one), 0);
	assert_int_equal(race_thread_begin(f, one, &two), 0);
	race_access(f, one, 1, X, 8, RACE_READ);
	race_forget(f, X - 64, 128);
	assert_int_equal(told(), 8);
	assert_int_equal(effect_first, X);
	/* forgetting twice reports nothing */
	race_forget(f, X - 64, 128);
	assert_int_equal(told(), 0);
	/* parts of words, and whole pages */
	race_access(f, two, 1, X + 2, 3, RACE_WRITE);
	race_forget(f, X, 4);
	assert_int_equal(told(), 2);
	race_access(f, two, 1, X, 3 * 4096, RACE_WRITE);
	race_forget(f, X - 65536, 1 << 20);
	assert_int_equal(told(), 3 * 4096);
	/*
	 * nothing after a free, a release or the end of the thread: the filter emits accesses again
	 */
	race_access(f, one, 1, X, 8, RACE_WRITE);
	race_access(f, one, 2, X, 8, RACE_WRITE | RACE_FREE);
	race_forget(f, X, 8);
	race_access(f, one, 1, X, 8, RACE_WRITE);
	race_release(f, one, &a);
	race_forget(f, X, 8);
	race_access(f, two, 1, X, 8, RACE_WRITE);
	race_thread_end(f, two);
	race_forget(f, X, 8);
	assert_int_equal(told(), 0);
	/* a thread that uses memory after it has freed it may do so again */
	race_access(f, one, 2, X, 8, RACE_WRITE | RACE_FREE);
	race_access(f, one, 1, X, 8, RACE_READ);
	race_forget(f, X, 8);
	assert_int_equal(told(), 8);
	/* an acquire or a join is no release */
	race_access(f, one, 1, X, 8, RACE_READ);
	race_acquire(f, one, &a);
	race_thread_join(f, one, two);
	race_forget(f, X, 8);
	assert_int_equal(told(), 8);
	/* nothing if the thread itself makes the memory new, unless others accessed it */
	race_access(f, one, 1, X, 4, RACE_READ);
	race_forget_by(f, one, X, 8);
	assert_int_equal(told(), 0);
	race_thread_begin(f, one, &two);
	race_access(f, one, 1, X, 8, RACE_READ);
	race_access(f, two, 1, X, 4, RACE_READ);
	race_forget_by(f, one, X, 8);
	assert_int_equal(told(), 4);
	race_sync_free(f, &a);
	race_detector_free(f);
}

static void watch(void **state)
{
	struct race_stats s;

	(void)state;
	begin(RACE_ONLY_WATCHED, 0);
	threads(2);
	race_watch(d, X + 3, 2);
	wr(1, 10, X, 8);
	wr(1, 11, X, 8);
	race_forget(d, X, 8);
	wr(1, 12, X, 8);
	wr(1, 13, X, 8);
	wr(1, 14, X + 65536, 8);
	wr(2, 20, X, 8);
	wr(2, 21, X + 65536, 8);
	assert_int_equal(race_rows_count(rows), 2);
	assert_int_equal(row(12, 20, X + 3, 2), 1);
	assert_int_equal(row(13, 20, X + 3, 2), 1);
	race_get_stats(d, &s);
	assert_int_equal(s.pages, 1);
}

static void counted(void **state)
{
	u32 i;

	(void)state;
	begin(RACE_HB_ONLY, 0);
	threads(2);
	for (i = 0; i < 1000; i++) {
		assert_int_equal(race_access(d, 1, 10, X, 4, RACE_READ | RACE_WRITE), 0);
		assert_int_equal(race_access(d, 2, 10, X, 4, RACE_READ | RACE_WRITE), 0);
	}
	assert_int_equal(race_rows_count(rows), 1);
	assert_int_equal(row(10, 10, X, 4), 1999);
	assert_int_equal(race_rows_get(rows, 0)->first.prior.thread, 1);
}

static void many_threads(void **state)
{
	struct race_stats s;
	u32 i, t;

	(void)state;
	begin(0, 0);
	threads(1);
	for (i = 2; i < RACE_THREADS; i++) {
		t = thread(0);
		assert_int_equal(t, i);
		wr(t, 10, X, 8);
		race_thread_end(d, t);
		assert_int_equal(race_thread_join(d, 0, t), 0);
	}
	none();
	assert_int_equal(race_thread_begin(d, 0, &t), -ENOSPC);
	wr(1, 11, X, 8);
	assert_int_equal(row(10, 11, X, 8), 1);
	race_get_stats(d, &s);
	assert_true(s.clock_bytes < 64 << 20);
}

/* One thread waits, many threads read, and a write follows all of them. */
static void read_shared(void **state)
{
	u32 i, t, n = 2000;

	(void)state;
	begin(0, 0);
	threads(1);
	for (i = 0; i < n; i++) {
		t = thread(0);
		rd(t, 10, X, 8);
		race_thread_end(d, t);
	}
	for (i = 0; i < n; i++)
		race_thread_join(d, 0, i + 2);
	wr(0, 1, X, 8);
	none();
	rd(1, 11, X, 8);
	assert_int_equal(row(1, 11, X, 8), 1);
}

static void nonsense(void **state)
{
	static const u64 odd[] = { 0, 1, 7, 0xfff, 0x1000, 1ull << 47, ~0ull, ~7ull, ~0xfffull,
				   1ull << 63 };
	struct race_sync s = { 0 };
	u32 i, j, t;

	(void)state;
	begin(0, 0);
	assert_int_equal(race_access(d, 0, 1, X, 8, RACE_READ), -EINVAL);
	assert_int_equal(race_thread_begin(d, 3, &t), -EINVAL);
	assert_int_equal(race_acquire(d, 0, &s), -EINVAL);
	threads(3);
	assert_int_equal(race_access(d, 4, 1, X, 8, RACE_READ), -EINVAL);
	assert_int_equal(race_access(d, 1, 1, X, 8, 0), -EINVAL);
	assert_int_equal(race_access(d, 1, 1, X, 8, RACE_ATOMIC), -EINVAL);
	assert_int_equal(race_access(d, 1, 1, X, 8, 0x200 | RACE_READ), -EINVAL);
	assert_int_equal(race_thread_join(d, 1, 1), -EINVAL);
	assert_int_equal(race_thread_join(d, 1, 9), -EINVAL);
	assert_int_equal(race_access(d, 1, 1, X, 0, RACE_READ), 0);
	for (i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		for (j = 1; j < 70000; j = j * 3 + 1) {
			wr(1, odd[i], odd[i], j);
			rd(2, ~odd[i], odd[i], j);
		}
		assert_int_equal(race_forget(d, odd[i], odd[9 - i]), 0);
		assert_int_equal(race_forget(d, odd[i], ~0ull), 0);
	}
	/* Threads joined while alive, twice, or by several; events after a thread's end. */
	assert_int_equal(race_thread_join(d, 1, 2), 0);
	assert_int_equal(race_thread_join(d, 2, 1), 0);
	race_thread_end(d, 3);
	race_thread_end(d, 3);
	assert_int_equal(race_access(d, 3, 1, X, 8, RACE_READ), -EINVAL);
	assert_int_equal(race_release(d, 3, &s), -EINVAL);
	assert_int_equal(race_thread_join(d, 1, 3), 0);
	assert_int_equal(race_thread_join(d, 1, 3), 0);
	assert_int_equal(race_thread_join(d, 2, 3), 0);
	assert_int_equal(race_thread_begin(d, 3, &t), 0);
	wr(t, 1, X, 8);
	race_thread_end(d, 99);
	assert_int_equal(race_epoch(d, 99), 0);
	race_sync_free(d, &s);
}

/* With too little memory the detector fails, stays failed, and neither leaks nor reuses memory. */
static void no_memory(void **state)
{
	u64 limit, i;
	u32 t[4], j;
	int ret;

	(void)state;
	for (limit = 0x18000; limit < 3ull << 20; limit += limit / 64 + 13) {
		struct race_options o = { .limit = limit, .places = 2 };
		struct race_ops ops = { .report = race_rows_report };
		struct race_sync s = { 0 };

		rows = race_rows_create();
		ops.arg = rows;
		ret = race_detector_create(&d, &ops, &o);
		for (j = 0; !ret && j < 4; j++)
			ret = race_thread_begin(d, j ? 0 : RACE_NO_THREAD, &t[j]);
		for (i = 0; !ret && i < 3000; i++) {
			j = i * 7 % 4;
			ret = race_access(d, t[j], i % 300, X + i * 1237 % 100000, 1 + i % 20,
					  RACE_READ + i % 2);
			if (!ret && i % 5 == 0)
				ret = race_release(d, t[j], &s);
			if (!ret && i % 7 == 0)
				ret = race_acquire(d, t[j], &s);
			if (!ret && i % 50 == 0)
				ret = race_fail(d, race_gc(d, true));
		}
		if (ret) {
			assert_int_equal(ret, -ENOMEM);
			assert_true(!d || race_access(d, t[0], 1, X, 8, RACE_READ) != 0);
		}
		if (d)
			race_sync_free(d, &s);
		end(NULL);
	}
	assert_int_equal(ret, 0);
}

/* Unused states and histories are freed; those in use stay. */
static void collected(void **state)
{
	struct race_sync s = { 0 };
	struct race_stats st;
	u32 i;

	(void)state;
	begin(0, 0);
	threads(3);
	wr(3, 30, X + 64, 8);
	race_release_store(d, 3, &s);
	race_acquire(d, 1, &s);
	wr(1, 9, X + 4096, 8);
	for (i = 0; i < 300000; i++) {
		race_acquire(d, 1 + i % 2, &s);
		wr(1 + i % 2, i % 50, X, 8);
		race_release_store(d, 1 + i % 2, &s);
	}
	none();
	race_get_stats(d, &st);
	assert_true(st.collections >= 1);
	assert_true(st.state_bytes < 16 << 20);
	assert_true(st.clock_bytes < 24 << 20);
	assert_int_equal(race_gc(d, true), 0);
	race_get_stats(d, &st);
	assert_true(st.states < 10);
	assert_true(st.clock_bytes < 64 << 10);
	rd(0, 1, X + 4096, 8);
	assert_int_equal(row(9, 1, X + 4096, 8), 1);
	rd(0, 2, X + 64, 8);
	assert_int_equal(race_rows_count(rows), 1);
	race_sync_free(d, &s);
}

#define T(f)	cmocka_unit_test_teardown(f, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(write_write), T(same_bytes_only), T(locked), T(fork_and_join), T(atomics),
		T(all_readers), T(keep_all), T(places), T(shb), T(shb_as_of_then), T(forgotten),
		cmocka_unit_test(forgotten_at_work),
		T(watch), T(counted), T(many_threads), T(read_shared), T(nonsense), T(collected),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
