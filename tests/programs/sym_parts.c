// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compiled as two files with different UNIT: both have a static function work() with a part that is
 * rarely executed, work.cold; unit 1 also has a global function with one.
 */
#include <stdlib.h>

extern int unit1(int n), unit2(int n);

static __attribute__((cold, noinline)) void rare(int n)
{
	exit(n + UNIT);
}

static __attribute__((noinline)) int work(int n)
{
	int i, sum = UNIT;

	for (i = 0; i < n; i++) {
		if (__builtin_expect(n - i == 1000, 0))
			rare(n);
		sum += i * n ^ sum;
	}
	return sum;
}

#if UNIT == 1
int unit1(int n)
{
	if (__builtin_expect(n == 77, 0))
		rare(n + 1);
	return work(n) + 1;
}

int main(int argc, char **argv)
{
	(void)argv;
	return (unit1(argc) + unit2(argc)) & 1;
}
#else
int unit2(int n)
{
	return work(n + 2);
}
#endif
