// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Clocks of many threads and their histories, against plain arrays.  ADEPT_TEST_SEED and
 * ADEPT_TEST_COUNT set seed and number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "libdep/analyze/races/clock_history.h"
#include "tests/unit/lib/random.h"

#define THREADS		300u
#define VERSIONS	400u

/* A thread's clock, its value at each version, and which versions may still be requested. */
static struct race_mem mem;
static struct race_clock mine;
static struct race_history history;
static u64 was[VERSIONS][THREADS];
static u64 named[VERSIONS];
static size_t nnamed;
static u32 version, owner, nthreads;

/* Another thread's clock that has @n components of @now or later. */
static void random_clock(struct race_clock *c, const u64 *now, u64 *model, u32 n)
{
	u32 i, t;

	memset(c, 0, sizeof(*c));
	c->owner = (owner + 1 + rnd() % (nthreads - 1)) % nthreads;
	for (i = 0; i < n; i++) {
		t = rnd() % nthreads;
		if (t == owner || t == c->owner)
			continue;
		model[t] = now[t] + rnd() % 5;
		assert_true(race_clock_raise(&mem, c, t, model[t], NULL, 0) >= 0);
		if (model[t] < race_clock_get(c, t))
			model[t] = race_clock_get(c, t);
	}
	model[c->owner] = c->epoch = now[c->owner] + 1;
}

static void acquire(u64 *now)
{
	u64 model[THREADS] = { 0 };
	struct race_clock other;
	size_t before;
	bool rewound;
	u32 i;
	int ret;

	random_clock(&other, now, model, rnd() % 3 ? rnd() % 4 : rnd() % nthreads);
	rewound = race_history_rewind(&mem, &history);
	before = history.n;
	ret = race_clock_join(&mem, &mine, &other, rewound ? NULL : &history, version + 1);
	assert_int_equal(ret, 1);
	version++;
	assert_int_equal(race_history_flush(&mem, &history, version, mine.vec, before, rewound),
			 0);
	for (i = 0; i < nthreads; i++) {
		if (now[i] < model[i])
			now[i] = model[i];
		if (i != owner)
			assert_int_equal(race_clock_get(&mine, i), now[i]);
	}
	race_clock_free(&mem, &other);
}

/* Some versions are no longer requested. */
static void prune(size_t *scratch)
{
	size_t i, n = 0;
	bool current;

	for (i = 0; i < nnamed; i++)
		if (rnd() % 3)
			named[n++] = named[i];
	nnamed = n;
	current = nnamed && named[nnamed - 1] == version;
	if (!current)
		named[nnamed++] = version;
	race_history_prune(&mem, &history, named, nnamed, scratch);
	nnamed -= !current;
	for (i = 0; i < THREADS; i++)
		assert_int_equal(scratch[i], 0);
}

static void ask(u32 at)
{
	struct race_clock c = { .owner = THREADS + 5, .epoch = 1 };
	u32 i;

	assert_true(race_history_join(&mem, &history, at, &c, NULL, 0) >= 0);
	for (i = 0; i < nthreads; i++)
		if (i != owner)
			assert_int_equal(race_clock_get(&c, i), was[at][i]);
	race_clock_free(&mem, &c);
}

static void run(void)
{
	size_t scratch[THREADS] = { 0 }, i;

	nthreads = rnd() % 3 ? rnd() % 10 + 3 : THREADS;
	owner = rnd() % nthreads;
	memset(was, 0, sizeof(was));
	mine = (struct race_clock){ .owner = owner, .epoch = 1, .whole = true };
	version = 1;
	nnamed = 0;
	assert_int_equal(race_history_begin(&mem, &history, NULL), 0);
	while (version < VERSIONS - 2) {
		if (rnd() % 2 && history.written < version) {
			history.written = version;
			named[nnamed++] = version;
		}
		memcpy(was[version + 1], was[version], sizeof(was[0]));
		if (rnd() % 2)
			acquire(was[version + 1]);
		else
			version++;
		if (rnd() % 16 == 0)
			prune(scratch);
		if (nnamed)
			ask(named[rnd() % nnamed]);
	}
	for (i = 0; i < nnamed; i++)
		ask(named[i]);
	race_history_free(&mem, &history);
	race_clock_free(&mem, &mine);
	assert_int_equal(mem.sum, 0);
}

static void as_it_was(void **s)
{
	u64 n = from_env("ADEPT_TEST_COUNT", from_env("LONG", 0) ? 2000 : 150);

	(void)s;
	while (n--)
		run();
}

/* Copies share chunks; a change does not affect other copies. */
static void shared(void **s)
{
	struct race_clock a = { .epoch = 7, .owner = 3 }, b = { 0 }, c = { 0 };

	(void)s;
	assert_int_equal(race_clock_raise(&mem, &a, 40000, 5, NULL, 0), 1);
	race_clock_copy(&mem, &b, &a);
	race_clock_copy(&mem, &c, &b);
	assert_ptr_equal(a.vec, c.vec);
	assert_int_equal(race_clock_raise(&mem, &b, 40001, 6, NULL, 0), 1);
	assert_int_equal(race_clock_raise(&mem, &b, 40001, 6, NULL, 0), 0);
	assert_int_equal(race_clock_get(&a, 40001), 0);
	assert_int_equal(race_clock_get(&b, 40000), 5);
	assert_int_equal(race_clock_get(&b, 3), 7);
	assert_int_equal(race_clock_get(&b, 65534), 0);
	/* A clock with fewer entries takes over the chunk. */
	assert_int_equal(race_clock_join(&mem, &c, &b, NULL, 0), 1);
	assert_ptr_equal(c.vec->chunk[40000 / RACE_CHUNK], b.vec->chunk[40000 / RACE_CHUNK]);
	assert_int_equal(race_clock_join(&mem, &c, &b, NULL, 0), 0);
	/* The other vector has a higher component for a thread than that thread's own clock. */
	a = (struct race_clock){ a.vec, 2, 40001, false };
	assert_int_equal(race_clock_join(&mem, &a, &b, NULL, 0), 1);
	assert_int_equal(race_clock_get(&a, 40001), 6);
	race_clock_free(&mem, &a);
	race_clock_free(&mem, &b);
	race_clock_free(&mem, &c);
	assert_int_equal(mem.sum, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared),
		cmocka_unit_test(as_it_was),
	};

	rnd_state = from_env("ADEPT_TEST_SEED", time(NULL));
	print_message("ADEPT_TEST_SEED=%llu\n", (unsigned long long)rnd_state);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
