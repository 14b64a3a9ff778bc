// SPDX-License-Identifier: GPL-2.0-or-later
/* Accounts: users, amounts, rates. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/base/account.h"

#define SECOND 1000000000ull

static char subuid[64], passwd[64];

static void put_file(char *path, const char *name, const char *text)
{
	FILE *f;

	snprintf(path, 64, "/tmp/adept-%s.%d", name, getpid());
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_owner(void **state)
{
	struct subuids *s;

	(void)state;
	put_file(passwd, "passwd", "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/:/bin/sh\n");
	put_file(subuid, "subuid", "ann:100000:65536\n1001:200000:10\nnobody-there:300000:10\n"
		 "bad\n:1:2\nann:4294967295:2\nroot:500000:10\n");
	assert_int_equal(subuid_open(&s, subuid, passwd), 0);
	assert_int_equal(subuid_owner(s, 0), 0);
	assert_int_equal(subuid_owner(s, 1000), 1000);
	assert_int_equal(subuid_owner(s, 99999), 99999);
	assert_int_equal(subuid_owner(s, 100000), 1000);
	assert_int_equal(subuid_owner(s, 165535), 1000);
	assert_int_equal(subuid_owner(s, 165536), 165536);
	assert_int_equal(subuid_owner(s, 200009), 1001);
	assert_int_equal(subuid_owner(s, 300005), 300005);
	/* Root has no limits, so ranges that belong to root do not count for root. */
	assert_int_equal(subuid_owner(s, 500001), 500001);
	assert_int_equal(subuid_owner(s, 4294967295u), 4294967295u);
	/* A changed file is read again. */
	put_file(subuid, "subuid", "1002:100000:5\n");
	assert_int_equal(subuid_owner(s, 100001), 1002);
	unlink(subuid);
	assert_int_equal(subuid_owner(s, 100001), 100001);
	unlink(passwd);
	subuid_close(s);
}

static void test_amounts(void **state)
{
	struct account_info info[4];
	struct accounts *a;
	struct account *u;
	unsigned int i;

	(void)state;
	assert_int_equal(accounts_open(&a), 0);
	u = account_of(a, 4000000001u);
	assert_ptr_equal(u, account_of(a, 4000000001u));
	for (i = 0; i < ACCOUNT_INSTANCES_MAX; i++)
		assert_int_equal(account_get(u, ACCOUNT_INSTANCES, 1), 0);
	assert_int_equal(account_get(u, ACCOUNT_INSTANCES, 1), -EUSERS);
	account_put(u, ACCOUNT_INSTANCES, 1);
	assert_int_equal(account_get(u, ACCOUNT_INSTANCES, 1), 0);
	assert_int_equal(account_left(u, ACCOUNT_SESSIONS), ACCOUNT_SESSIONS_MAX);
	/* One user never gets all of the front's capacity. */
	assert_int_equal(account_get(u, ACCOUNT_USED, ACCOUNT_USED_MAX), 0);
	assert_int_equal(account_get(u, ACCOUNT_USED, 1), -EUSERS);
	account_put(u, ACCOUNT_USED, ACCOUNT_USED_MAX);
	assert_int_equal(account_left(u, ACCOUNT_USED), ACCOUNT_USED_MAX);
	/* Values from a hostile instance are limited and do not wrap around. */
	account_report(u, ACCOUNT_SESSIONS, 0, 1000);
	assert_int_equal(account_left(u, ACCOUNT_SESSIONS), 0);
	account_report(u, ACCOUNT_SESSIONS, 1000, 2);
	assert_int_equal(account_left(u, ACCOUNT_SESSIONS), ACCOUNT_SESSIONS_MAX - 2);
	account_put(u, ACCOUNT_SESSIONS, 1000);
	assert_int_equal(account_left(u, ACCOUNT_SESSIONS), ACCOUNT_SESSIONS_MAX);
	for (i = 0; i < 10000; i++)
		assert_int_equal(account_get(account_of(a, 0), ACCOUNT_INSTANCES, 1), 0);
	assert_int_equal(accounts_list(a, info, 4), 2);
	assert_int_equal(accounts_list(a, info, 1), 1);
	/* An empty account is removed, one in use is not. */
	assert_ptr_not_equal(account_of(a, 4000000002u), NULL);
	accounts_free_unused(a, 1000 * SECOND);
	assert_int_equal(accounts_list(a, info, 4), 2);
	accounts_close(a);
}

static void test_rates(void **state)
{
	uint64_t now = 5 * SECOND;
	struct accounts *a;
	struct account *u;
	uint32_t all = 0;
	int i;

	(void)state;
	assert_int_equal(accounts_open(&a), 0);
	u = account_of(a, 4000000001u);
	while (account_rate(u, RATE_IDS, 16, now))
		all += 16;
	assert_int_equal(all, 128);
	assert_int_equal(account_rate(u, RATE_IDS, 16, now + SECOND / 16), 0);
	assert_int_equal(account_rate(u, RATE_IDS, 16, now + SECOND / 8), 1);
	assert_int_equal(account_rate(u, RATE_IDS, 16, now + SECOND + SECOND / 8), 8);
	/* Frequent checks do not lose fractions of the rate. */
	for (i = 1, all = 0; i <= 1000; i++)
		all += account_rate(u, RATE_IDS, 16, now + 10 * SECOND + i * SECOND / 1000);
	assert_in_range(all, 8 + 70, 8 + 72);
	assert_int_equal(account_rate(u, RATE_IDS, 1000, now + 1000000 * SECOND), 128);
	assert_int_equal(account_rate(account_of(a, 0), RATE_IDS, 100000, now), 100000);
	accounts_close(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_amounts),
		cmocka_unit_test(test_rates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
