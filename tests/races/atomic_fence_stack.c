// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A fence that is implemented as an instruction which leaves the top of the stack unchanged does
 * not make that word atomic.
 * tsan: no, because it does not see the word on top of the stack
 */
#include <alloca.h>

#include "races.h"

RIGHT_ONLY(static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;)

static void *giver(void *arg)
{
	char *block = alloca(256);
	int *top;

	USE(block);
	__asm__ volatile("mov %%rsp, %0\n\tlock orq $0, (%%rsp)" : "=r"(top) : : "memory", "cc");
	tell((uint64_t)top);
	RIGHT_ONLY(pthread_mutex_lock(&mutex));
	*top = 1; /* RACE: value */
	RIGHT_ONLY(pthread_mutex_unlock(&mutex));
	await(1);
	return arg;
}

static void *taker(void *arg)
{
	int *top = (int *)hear(NOTHING);

	nap();
	RIGHT_ONLY(pthread_mutex_lock(&mutex));
	USE(*top); /* RACE: value */
	RIGHT_ONLY(pthread_mutex_unlock(&mutex));
	tell(1);
	return arg;
}

int main(void)
{
	return both(giver, taker);
}
