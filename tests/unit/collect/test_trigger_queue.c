// SPDX-License-Identifier: GPL-2.0-or-later
/* Triggers that wait for their snapshot: order, bounds, and what is counted as skipped. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "libdep/collect/keep_if.h"
#include "libdep/collect/kept_now.h"
#include "libdep/collect/trigger_queue.h"

static void put(struct dep_trigger_queue *q, uint64_t value)
{
	const struct dep_kept kept = { .reason = DEP_KEEP_PERF, .value = value };

	dep_trigger_put(q, &kept);
}

static void test_order(void **state)
{
	struct dep_trigger_queue q = { .most = 100 };
	uint32_t i;

	(void)state;
	assert_null(dep_trigger_first(&q));
	for (i = 0; i < DEP_TRIGGERS_WAITING; i++)
		put(&q, i + 1);
	put(&q, 77);
	assert_int_equal(q.skipped, 1);
	for (i = 0; i < DEP_TRIGGERS_WAITING; i++) {
		assert_int_equal(dep_trigger_first(&q)->value, i + 1);
		assert_true(dep_trigger_first(&q)->at_ns && dep_trigger_first(&q)->realtime_ns);
		dep_trigger_drop(&q, i % 2);
	}
	assert_null(dep_trigger_first(&q));
	assert_int_equal(q.made, DEP_TRIGGERS_WAITING / 2);
	assert_int_equal(q.skipped, 1 + DEP_TRIGGERS_WAITING / 2);
	dep_trigger_drop(&q, true);
	assert_int_equal(q.made, DEP_TRIGGERS_WAITING / 2);
}

/* Those that wait count, too; one that failed makes room for another. */
static void test_most(void **state)
{
	struct dep_trigger_queue q = { .most = 2 };

	(void)state;
	put(&q, 1);
	put(&q, 2);
	put(&q, 3);
	assert_int_equal(q.n, 2);
	assert_int_equal(q.skipped, 1);
	dep_trigger_drop(&q, true);
	dep_trigger_drop(&q, false);
	put(&q, 4);
	assert_int_equal(dep_trigger_first(&q)->value, 4);
	dep_trigger_drop(&q, true);
	put(&q, 5);
	assert_null(dep_trigger_first(&q));
	assert_int_equal(q.made, 2);
	assert_int_equal(q.skipped, 3);
	q = (struct dep_trigger_queue){ 0 };
	put(&q, 6);
	assert_int_equal(q.skipped, 1);
}

static void test_keep_if(void **state)
{
	const int good = W_EXITCODE(0, 0), bad = W_EXITCODE(3, 0), killed = W_EXITCODE(0, 11);

	(void)state;
	assert_true(dep_keep_if_met(DEP_KEEP_IF_ALWAYS, good));
	assert_false(dep_keep_if_met(DEP_KEEP_IF_FAILURE, good));
	assert_true(dep_keep_if_met(DEP_KEEP_IF_FAILURE, bad));
	assert_true(dep_keep_if_met(DEP_KEEP_IF_FAILURE, killed));
	assert_false(dep_keep_if_met(DEP_KEEP_IF_CRASH, good));
	assert_false(dep_keep_if_met(DEP_KEEP_IF_CRASH, bad));
	assert_true(dep_keep_if_met(DEP_KEEP_IF_CRASH, killed));
	assert_true(dep_keep_if_met(DEP_KEEP_IF_CRASH, killed | 0x80));
	assert_true(dep_keep_if_met(DEP_KEEP_IF_FAILURE, -1));
	assert_true(dep_keep_if_met(DEP_KEEP_IF_CRASH, -1));
}

/* How a command has ended, as wait(2) says. */
static void test_ended(void **state)
{
	(void)state;
	assert_int_equal(dep_kept_ended(-1).reason, DEP_KEEP_ENDED);
	assert_int_equal(dep_kept_ended(3 << 8).reason, DEP_KEEP_EXIT);
	assert_int_equal(dep_kept_ended(3 << 8).value, 3);
	assert_int_equal(dep_kept_ended(SIGSEGV | 0x80).reason, DEP_KEEP_SIGNAL);
	assert_int_equal(dep_kept_ended(SIGSEGV | 0x80).value, SIGSEGV);
	assert_true(dep_kept_ended(0).at_ns && dep_kept_ended(0).realtime_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order), cmocka_unit_test(test_most),
		cmocka_unit_test(test_keep_if), cmocka_unit_test(test_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
