// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For tests/examples.sh: functions with a known number of references and calls of malloc.  With an
 * argument, wait for a writer of this FIFO in the middle.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static long words[1000];
void *blocks[35];

__attribute__((noinline)) void fill(volatile long *p, int n)
{
	for (int i = 0; i < n; i++)
		p[i] = i;
}

__attribute__((noinline)) void ten(void)
{
	for (int i = 0; i < 10; i++)
		blocks[i] = malloc(100);
}

__attribute__((noinline)) void many(void)
{
	for (int i = 10; i < 35; i++)
		blocks[i] = malloc(8);
}

int main(int argc, char **argv)
{
	fill(words, 1000);
	ten();
	if (argc > 1)
		close(open(argv[1], O_RDONLY));
	fill(words, 1000);
	many();
	return 0;
}
