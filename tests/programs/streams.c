// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A list in memory that two threads walk again and again, with other data in between: a hot data
 * stream.
 */
#include <pthread.h>
#include <stddef.h>

#define NODES	16
#define WALKS	300
#define ROUNDS	4

struct node {
	long value;
	struct node *next;
};

static struct node node[NODES];
static struct node *first;
static long other[1024];
static volatile long sum;

static void make_list(void)
{
	int i;

	/* 5 has no factor in common with the number of nodes: the list jumps, and has them all */
	for (i = 0; i < NODES; i++) {
		node[i * 5 % NODES].value = i;
		node[i * 5 % NODES].next = i + 1 < NODES ? &node[(i + 1) * 5 % NODES] : NULL;
	}
	first = &node[0];
}

__attribute__((noinline)) static long walk(const struct node *from)
{
	const struct node *n;
	long s = 0;
	int i;

	for (i = 0; i < ROUNDS; i++)
		for (n = from; n; n = n->next)
			s += n->value;
	return s;
}

static void *walks(void *arg)
{
	unsigned int seed = *(unsigned int *)arg, k;
	int i;

	for (i = 0; i < WALKS; i++) {
		sum += walk(first);
		for (k = 0; k <= seed >> 16 & 7; k++) {
			seed = seed * 1103515245 + 12345;
			other[seed >> 16 & 1023]++;
		}
	}
	return NULL;
}

int main(void)
{
	unsigned int seed[2] = { 1, 2 };
	pthread_t t;

	make_list();
	if (pthread_create(&t, NULL, walks, &seed[0]))
		return 1;
	pthread_join(t, NULL);
	walks(&seed[1]);
	return 0;
}
