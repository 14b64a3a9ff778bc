// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Times of last writes in shadow memory, against an array: with few and with many different times
 * in a page.  ADEPT_TEST_SEED sets the seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "libdep/analyze/races/shadow.h"
#include "tests/unit/lib/random.h"

#define STEPS	20000u

struct written {
	struct race_mem m;
	struct race_shadow s;
	struct race_page *page;
	u64 when[RACE_CELLS];
};

static void begin(struct written *w)
{
	memset(w, 0, sizeof(*w));
	w->page = race_shadow_make(&w->m, &w->s, 7);
	assert_non_null(w->page);
}

static void end(struct written *w)
{
	race_shadow_free(&w->m, &w->s);
	assert_int_equal(w->m.sum, 0);
}

static int put(struct written *w, u32 i, u64 when)
{
	int ret = race_page_write(&w->m, w->page, i, when);

	if (!ret)
		w->when[i] = when;
	return ret;
}

static void compare(const struct written *w)
{
	u32 i;

	for (i = 0; i < RACE_CELLS; i++)
		assert_true(race_page_wrote(w->page, i) == w->when[i]);
}

/* Use at most @many different times; now and then replace the oldest one. */
static void random_times(struct written *w, u32 many)
{
	u64 since = 0x1000000000000, i;
	u32 k, n;

	begin(w);
	for (k = 0; k < RACE_CELLS; k++)
		assert_int_equal(put(w, k, since), 0);
	for (i = 0; i < STEPS; i++) {
		if (rnd() % 64 == 0) {
			for (k = 0; k < RACE_CELLS; k++)
				if (w->when[k] == since)
					assert_int_equal(put(w, k, since + many), 0);
			since++;
		}
		k = rnd() % RACE_CELLS;
		for (n = rnd() % 8 ? 1 : rnd() % 64; n-- && k < RACE_CELLS; k++)
			assert_int_equal(put(w, k, since + rnd() % many), 0);
		if (i % 64 == 0)
			compare(w);
	}
	compare(w);
}

static void times(void **state)
{
	static const u32 manys[] = { 1, 2, 6, 11, 12, 13, 23, 24, 25, 100, 1000 };
	struct written w;
	u32 i;

	(void)state;
	for (i = 0; i < sizeof(manys) / sizeof(manys[0]); i++) {
		random_times(&w, manys[i]);
		/*
		 * Up to half of the room always suffices; more times than there is room for never
		 * fit.
		 */
		if (manys[i] < RACE_TIMES / 2)
			assert_null(w.page->each);
		if (manys[i] > RACE_TIMES)
			assert_non_null(w.page->each);
		end(&w);
	}
}

/* One time after the other for the whole page, as when rows of a matrix are written. */
static void one_after_the_other(void **state)
{
	struct written w;
	u32 i, k;

	(void)state;
	begin(&w);
	for (i = 1; i < 1000; i++) {
		for (k = 0; k < RACE_CELLS; k++)
			assert_int_equal(put(&w, k, i), 0);
		compare(&w);
	}
	assert_null(w.page->each);
	end(&w);
}

/* Without memory for more times the call changes nothing, and other pages stay intact. */
static void no_memory(void **state)
{
	struct written w;
	u32 k;

	(void)state;
	begin(&w);
	w.m.limit = w.m.sum;
	for (k = 0; k < RACE_CELLS && !put(&w, k, 1000 + k); k++)
		;
	assert_in_range(k, RACE_TIMES - 1, RACE_TIMES);
	compare(&w);
	w.m.limit = 0;
	for (; k < RACE_CELLS; k++)
		assert_int_equal(put(&w, k, 1000 + k), 0);
	compare(&w);
	assert_non_null(w.page->each);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times),
		cmocka_unit_test(one_after_the_other),
		cmocka_unit_test(no_memory),
	};

	rnd_state = from_env("ADEPT_TEST_SEED", (u64)time(NULL));
	printf("seed %llu\n", (unsigned long long)rnd_state);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
