// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cost of an access in the race detector, measured by hand: make build/tests/bench_races and run
 * it; an argument selects patterns by a part of their names.  Prints nanoseconds, and bytes of
 * shadow memory and states, for common patterns; the best of five measurements counts, since other
 * programs run on the machine as well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "libdep/analyze/races/detector.h"
#include "libdep/analyze/races/race_table.h"

#define ROUNDS	5
#define MB	(1ul << 20)
#define BASE	0x7f0000000000ull

static struct race_detector *d;
static struct race_rows *rows;
static struct race_sync lock[64];
static u64 state = 1;

static u64 rnd(void)
{
	u64 z = state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	return z ^ z >> 31;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void setup(u32 threads)
{
	struct race_ops ops = { .report = race_rows_report };
	u32 t, i;

	rows = race_rows_create();
	ops.arg = rows;
	if (!rows || race_detector_create(&d, &ops, NULL))
		exit(1);
	race_thread_begin(d, RACE_NO_THREAD, &t);
	for (i = 0; i < threads; i++)
		race_thread_begin(d, 0, &t);
}

static void teardown(void)
{
	u32 i;

	for (i = 0; i < 64; i++)
		race_sync_free(d, &lock[i]);
	race_detector_free(d);
	race_rows_free(rows);
}

/* A pattern returns the number of its accesses. */

static u64 same_epoch(void)
{
	u64 i, n = 20000000;

	for (i = 0; i < n; i++)
		race_access(d, 1, 100 + (i & 7), BASE + (i & 7) * 8, 8,
			    i & 1 ? RACE_WRITE : RACE_READ);
	return n;
}

static u64 stream(u32 size, u32 flags)
{
	u64 i, n = 64 * MB / size;

	for (i = 0; i < n; i++)
		race_access(d, 1, 100, BASE + i * size, size, flags);
	return n;
}

static u64 stream_write(void)
{
	return stream(8, RACE_WRITE);
}

static u64 stream_ints(void)
{
	return stream(4, RACE_WRITE);
}

static u64 stream_vectors(void)
{
	return stream(32, RACE_READ);
}

static u64 copy_by_rep(void)
{
	u64 i;

	for (i = 0; i < 64; i++)
		race_access(d, 1, 100, BASE + i * MB, MB, RACE_WRITE);
	return 64 * MB / 8;
}

static u64 random_words(void)
{
	u64 i, n = 5000000;

	for (i = 0; i < n; i++)
		race_access(d, 1, 100 + (rnd() & 63), BASE + (rnd() & 0xfffffff) / 8 * 8, 8,
			    RACE_READ + (rnd() & 1));
	return n;
}

/* A lock, and one word that it protects. */
static u64 ping_pong(void)
{
	u64 i, n = 2000000;

	for (i = 0; i < n; i++) {
		u32 t = 1 + (i & 1);

		race_acquire(d, t, &lock[0]);
		race_access(d, t, 100, BASE, 8, RACE_READ);
		race_access(d, t, 101, BASE, 8, RACE_WRITE);
		race_release_store(d, t, &lock[0]);
	}
	return 2 * n;
}

/* 20 words that it protects, each read and written. */
static u64 ping_pong_20(void)
{
	u64 i, j, n = 200000;

	for (i = 0; i < n; i++) {
		u32 t = 1 + (i & 1);

		race_acquire(d, t, &lock[0]);
		for (j = 0; j < 20; j++) {
			race_access(d, t, 100 + j, BASE + j * 8, 8, RACE_READ);
			race_access(d, t, 200 + j, BASE + j * 8, 8, RACE_WRITE);
		}
		race_release_store(d, t, &lock[0]);
	}
	return 40 * n;
}

/* A table with 64 locks, used by 4 threads. */
static u64 lock_table(void)
{
	u64 i, n = 2000000;

	for (i = 0; i < n; i++) {
		u32 t = 1 + (i & 3), l = rnd() & 63;
		u64 at = BASE + l * MB + (rnd() & 0xfff) * 8;

		race_acquire(d, t, &lock[l]);
		race_access(d, t, 100, at, 8, RACE_READ);
		race_access(d, t, 101, at, 8, RACE_WRITE);
		race_release_store(d, t, &lock[l]);
	}
	return 2 * n;
}

static u64 read_shared(void)
{
	u64 i, n = 10000000;

	for (i = 0; i < n; i++)
		race_access(d, 1 + (i & 3), 100 + (i & 3), BASE + (i >> 2 & 0xffff) * 8, 8,
			    RACE_READ);
	return n;
}

/* The same, and each thread takes a private lock every 1000 reads. */
static u64 read_shared_sync(void)
{
	u64 i, n = 10000000;

	for (i = 0; i < n; i++) {
		u32 t = 1 + (i & 3);

		if (i % 1000 < 4)
			race_release_store(d, t, &lock[t]);
		race_access(d, t, 100 + (i & 3), BASE + (i >> 2 & 0xffff) * 8, 8, RACE_READ);
	}
	return n;
}

static u64 mixed(void)
{
	u64 i, n = 5000000, r;

	for (i = 0; i < n; i++) {
		r = rnd();
		race_access(d, 1, 100 + (r & 31), BASE + (r >> 8 & 0xffff), 1u << (r >> 6 & 3),
			    RACE_READ + (r >> 5 & 1));
	}
	return n;
}

/* Lock and unlock in 1000 threads, each after all previous ones. */
static u64 thousand_threads(void)
{
	u64 i, n = 200000;

	for (i = 0; i < n; i++) {
		u32 t = 1 + rnd() % 1000, l = rnd() & 63;

		race_acquire(d, t, &lock[l]);
		race_release_store(d, t, &lock[l]);
	}
	return n;
}

static u64 racing(void)
{
	u64 i, n = 500000;

	for (i = 0; i < n; i++)
		race_access(d, 1 + (i & 1), 100 + (i & 1), BASE, 8, RACE_READ | RACE_WRITE);
	return n;
}

static const struct {
	const char *name;
	u64 (*run)(void);
	u32 threads;
} patterns[] = {
	{ "same interval, same 8 words", same_epoch, 2 },
	{ "stream 64 MB, write 8", stream_write, 2 },
	{ "stream 64 MB, write 4", stream_ints, 2 },
	{ "stream 64 MB, read 32", stream_vectors, 2 },
	{ "64 x 1 MB by rep (a word)", copy_by_rep, 2 },
	{ "random words of 256 MB", random_words, 2 },
	{ "lock, 1 word, 2 threads", ping_pong, 2 },
	{ "lock, 20 words, 2 threads", ping_pong_20, 2 },
	{ "64 locks, table, 4 threads", lock_table, 4 },
	{ "read-shared by 4", read_shared, 4 },
	{ "read-shared by 4, releases", read_shared_sync, 4 },
	{ "mixed sizes, unaligned", mixed, 2 },
	{ "lock+unlock, 1000 threads", thousand_threads, 1000 },
	{ "every access races", racing, 2 },
};

int main(int argc, char **argv)
{
	struct race_stats s;
	double best, t;
	u32 i, j;
	u64 n;

	printf("%-30s %8s %8s %10s %10s %10s %8s\n", "pattern", "ns", "slow", "shadow K",
	       "states K", "clocks K", "collect");
	for (i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		if (argc > 1 && !strstr(patterns[i].name, argv[1]))
			continue;
		for (j = 0, best = 1e9; j < ROUNDS; j++) {
			setup(patterns[i].threads);
			t = now();
			n = patterns[i].run();
			t = (now() - t) / n * 1e9;
			best = t < best ? t : best;
			race_get_stats(d, &s);
			teardown();
		}
		printf("%-30s %8.2f %7.2f%% %10llu %10llu %10llu %8llu\n", patterns[i].name, best,
		       100. * s.slow / n, (unsigned long long)s.shadow_bytes >> 10,
		       (unsigned long long)s.state_bytes >> 10,
		       (unsigned long long)s.clock_bytes >> 10, (unsigned long long)s.collections);
	}
	return 0;
}
