// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program whose profile is known: loops, branches, a switch, recursion, calls by pointer and from
 * a library, and a second thread.  For tests/export.sh and tests/diff.sh, which compile it.
 *
 * With -DOTHER fib() does the same by other code, and more() is new.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUES	64

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

#ifdef OTHER
static volatile int sink;

__attribute__((noinline)) static int more(int n)
{
	return n & 1 ? 3 * n + 1 : n / 2;
}
#endif

__attribute__((noinline)) static int fib(int n)
{
	if (n < 2)
		return n;
#ifdef OTHER
	sink = more(n);
#endif
	return fib(n - 1) + fib(n - 2);
}

static int is_even(int n);

static int is_odd(int n)
{
	return n ? is_even(n - 1) : 0;
}

static int is_even(int n)
{
	return n ? is_odd(n - 1) : 1;
}

static int never(int x)
{
	x += 3;
	return x * 2;
}

static int kind(int i)
{
	switch (i % 4) {
	case 0:
		return 1;
	case 1:
		i++;
		/* fall through */
	case 2:
		return i;
	default:
		break;
	}
	return -1;
}

static int sum_up(const int *v, int n)
{
	int i, sum = 0;

	for (i = 0; i < n; i++) sum += v[i];
	return sum;
}

static int loops(int n)
{
	int i = 0, sum = 0;

	while (i < n) {
		if (i % 3 == 0 && i % 5 == 0)
			sum += 15;
		else if (i % 3 == 0)
			sum += 3;
		sum += kind(i);
		i++;
	}
	do {
		sum--;
	} while (sum > 100);
	return sum;
}

static void *thread(void *arg)
{
	*(int *)arg = fib(10);
	return NULL;
}

int main(int argc, char **argv)
{
	int v[VALUES], i, sum, other = 0;
	pthread_t t;

	for (i = 0; i < VALUES; i++)
		v[i] = i * 37 % VALUES;
	qsort(v, VALUES, sizeof(v[0]), compare);
	sum = sum_up(v, VALUES) + loops(100) + fib(12) + is_even(11);
	if (argc > 1 && !strcmp(argv[1], "thread")) {
		if (pthread_create(&t, NULL, thread, &other) || pthread_join(t, NULL))
			return 1;
	}
	if (argc > 5)
		sum += never(argc);
	printf("%d\n", sum + other);
	return 0;
}
