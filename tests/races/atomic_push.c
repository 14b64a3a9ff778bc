// SPDX-License-Identifier: GPL-2.0-or-later
/* A list without locks: nodes are pushed by compare-and-exchange and taken by exchange. */
#include "races.h"

struct node {
	struct node *next;
	int value;
};

static struct node *_Atomic head;
static struct node one;

static void *giver(void *arg)
{
	struct node *old = __atomic_load_n(&head, __ATOMIC_RELAXED);

	RIGHT_ONLY(one.value = 1);
	do
		one.next = old;
	while (!__atomic_compare_exchange_n(&head, &old, &one, 1, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
	RACY_ONLY(one.value = 1); /* RACE: value variable=one */
	return arg;
}

static void *taker(void *arg)
{
	struct node *list;

	while (!(list = __atomic_exchange_n(&head, NULL, __ATOMIC_ACQUIRE)))
		nap();
	nap();
	USE(list->next);
	USE(list->value); /* RACE: value */
	return arg;
}

int main(void)
{
	return both(giver, taker);
}
