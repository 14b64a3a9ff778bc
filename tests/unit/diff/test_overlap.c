// SPDX-License-Identifier: GPL-2.0-or-later
/* Overlap of profiles that are made by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tools/depctl/diff/overlap.h"

static char message[256];
static bool refused;	/* a message is wanted */

void warn(const char *fmt, ...)
{
	va_list ap;

	if (!refused)
		fail_msg("%s", fmt);
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
}

struct pair {
	uint64_t first, second;
};

static struct overlap overlap_of(const struct pair *p, size_t n)
{
	struct overlap_members m = { 0 };
	struct overlap o;
	size_t i;

	for (i = 0; i < n; i++)
		assert_int_equal(overlap_add(&m, p[i].first, p[i].second), 0);
	assert_int_equal(overlap_compute(&m, &o), 0);
	overlap_members_free(&m);
	return o;
}

#define OVERLAP_OF(...) \
	overlap_of((struct pair[]){ __VA_ARGS__ }, \
		   sizeof((struct pair[]){ __VA_ARGS__ }) / sizeof(struct pair))

static void assert_share(double got, double want)
{
	if (fabs(got - want) > 1e-12)
		fail_msg("%.15g is not %.15g", got, want);
}

static void nothing(void **state)
{
	struct overlap o = overlap_of(NULL, 0);

	(void)state;
	assert_true(o.empty);
	o = OVERLAP_OF({ 0, 0 });
	assert_true(o.empty);
	o = OVERLAP_OF({ 5, 0 });
	assert_false(o.empty);
	assert_share(o.all, 0);
	assert_share(o.of_hot, 0);
	assert_share(o.accuracy, 0);
	o = OVERLAP_OF({ 0, 5 });
	assert_false(o.empty);
	assert_share(o.accuracy, 0);
}

static void equal_shares(void **state)
{
	/* The second profile is a sample: a seventh of the first one. */
	struct overlap o = OVERLAP_OF({ 70, 10 }, { 7, 1 }, { 21, 3 });

	(void)state;
	assert_true(o.all == 1 && o.of_hot == 1 && o.accuracy == 1);
	o = OVERLAP_OF({ 1, 0 }, { 0, 1 });
	assert_share(o.all, 0);
	assert_share(o.of_hot, 0);
	assert_share(o.accuracy, 0);
}

static void known(void **state)
{
	/* Hot in the first: 60 and 30; in the second: 50, 25 and 25. */
	struct overlap o = OVERLAP_OF({ 60, 50 }, { 30, 0 }, { 10, 25 }, { 0, 25 });

	(void)state;
	assert_int_equal(o.members[0], 3);
	assert_int_equal(o.members[1], 3);
	assert_int_equal(o.hot[0], 2);
	assert_int_equal(o.hot[1], 3);
	assert_share(o.all, 0.50 + 0.10);
	assert_share(o.of_hot, 0.50);		/* of 60 / 90 and 50 / 100 */
	assert_share(o.accuracy, 0.50 / 0.90);
}

static void reduced(void **state)
{
	/* What is not hot in the second profile counts for accuracy, but not for the overlap. */
	struct overlap o = OVERLAP_OF({ 90, 10 }, { 10, 0 }, { 0, 90 });

	(void)state;
	assert_int_equal(o.hot[0], 1);
	assert_int_equal(o.hot[1], 1);
	assert_share(o.all, 0.10);
	assert_share(o.of_hot, 0);
	assert_share(o.accuracy, 0.10 / 0.90);
}

static void ties(void **state)
{
	/* Members as large as the smallest hot one are hot: the order does not matter. */
	struct overlap o = OVERLAP_OF({ 80, 80 }, { 10, 10 }, { 10, 10 });

	(void)state;
	assert_int_equal(o.hot[0], 3);
	assert_share(o.of_hot, 1);
	o = OVERLAP_OF({ 80, 0 }, { 11, 91 }, { 9, 9 });
	assert_int_equal(o.hot[0], 2);
	assert_share(o.of_hot, 11.0 / 91);
}

static void large_counts(void **state)
{
	struct overlap o = OVERLAP_OF({ UINT64_MAX / 2, UINT64_MAX / 2 },
				      { UINT64_MAX / 2, UINT64_MAX / 2 });

	(void)state;
	assert_share(o.all, 1);
	o = OVERLAP_OF({ UINT64_MAX - 1, 1 }, { 1, UINT64_MAX - 1 });
	assert_true(o.all > 0 && o.all < 1e-18);
}

static void too_large(void **state)
{
	static const char *const of[SIDES] = { "the first store", "the second store" };
	struct overlap_members m = { 0 };
	struct overlap o;
	unsigned int side;

	(void)state;
	refused = true;
	for (side = 0; side < SIDES; side++) {
		assert_int_equal(overlap_count(&m, side, "a", 1, UINT64_MAX), 0);
		assert_int_equal(overlap_compute(&m, &o), 0);
		/* One member. */
		assert_int_equal(overlap_count(&m, side, "a", 1, 1), 1);
		assert_non_null(strstr(message, of[side]));
		*message = '\0';
		overlap_members_free(&m);
		/* Their sum. */
		assert_int_equal(overlap_count(&m, side, "a", 1, UINT64_MAX), 0);
		assert_int_equal(overlap_count(&m, side, "b", 1, 1), 0);
		assert_int_equal(overlap_compute(&m, &o), 1);
		assert_non_null(strstr(message, of[side]));
		*message = '\0';
		overlap_members_free(&m);
	}
	refused = false;
}

static void keys(void **state)
{
	struct overlap_members m = { 0 };
	char key[16];
	unsigned int i, size;

	(void)state;
	for (i = 0; i < 6000; i++) {
		size = (unsigned int)snprintf(key, sizeof(key), "%u", i % 3000);
		assert_int_equal(overlap_count(&m, i / 3000, key, size, i), 0);
	}
	assert_int_equal(m.n, 3000);
	for (i = 0; i < 3000; i++) {
		assert_int_equal(m.member[i].weight[0], i);
		assert_int_equal(m.member[i].weight[1], i + 3000);
	}
	overlap_members_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing), cmocka_unit_test(equal_shares), cmocka_unit_test(known),
		cmocka_unit_test(reduced), cmocka_unit_test(ties), cmocka_unit_test(large_counts),
		cmocka_unit_test(too_large), cmocka_unit_test(keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
