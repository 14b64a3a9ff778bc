// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that compilers optimise by a profile: calls by pointer, calls inlined into inlined
 * ones, several blocks on one line, a loop that becomes vector instructions, and code that never
 * runs.  It is C and C++.  For tests/export_compilers.sh.
 */
#include <stdio.h>
#include <stdlib.h>

#define noinline __attribute__((noinline))

typedef int op(int, int);

static int add(int a, int b)
{
	return a + b;
}

static int mul(int a, int b)
{
	return a * b;
}

static op *const ops[] = { add, mul };

static inline int step(int x)
{
	if (x % 5 == 0)
		return x / 5;
	return x + 1;
}

static inline int twice(int x)
{
	int y = step(x) * 3 + step(x + 2);

	return y & 0xff;
}

static noinline int one_line(const int *v, int n)
{
	int i, s = 0; for (i = 0; i < n; i++) if (v[i] & 1) s ^= ops[0](s, i); else s -= v[i] / 3;

	return s;
}

static noinline int sum_up(const int *v, int n)
{
	int i, sum = 0;

	for (i = 0; i < n; i++)
		sum += v[i];
	return sum;
}

static noinline int work(int n)
{
	int i, s = 0;

	for (i = 0; i < n; i++) {
		s += twice(i);
		s = ops[i % 4 == 0](s, i) & 0xffff;
	}
	return s;
}

static noinline int never(int n)
{
	int i;

	for (i = 0; i < n; i++)
		printf("%d\n", i);
	return i;
}

int main(int argc, char **argv)
{
	int v[1000], i, s = 0;

	for (i = 0; i < 1000; i++)
		v[i] = i * 7 % 11;
	if (argc > 3)
		s = never(atoi(argv[1]));
	s += work(1000);
	s += one_line(v, 500);
	s += sum_up(v, 1000);
	printf("%d\n", s);
	return 0;
}
