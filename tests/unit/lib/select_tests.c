// SPDX-License-Identifier: GPL-2.0-or-later
/* Part of each unit test: run only the tests that $TEST names, a pattern with * and ?. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

__attribute__((constructor)) static void select_tests(void)
{
	const char *pattern = getenv("TEST");

	if (pattern && *pattern)
		cmocka_set_test_filter(pattern);
}
