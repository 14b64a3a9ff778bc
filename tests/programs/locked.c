// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  Locked instructions of all kinds in four threads, which must leave
 * registers and flags as the processor does.  locked ADDS: that many fetch-and-adds by each,
 * and who got which number, for tests/order.sh.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common.h"

#define THREADS	4

static unsigned int adds = 20000;
static unsigned long order, swapped;
static struct { unsigned long low, high; } wide __attribute__((aligned(16)));
static unsigned int *number[THREADS], tid[THREADS];

/* In a place of its own, which the test knows by its name. */
__attribute__((noinline, noclone)) unsigned long take_number(unsigned long *from)
{
	unsigned long one = 1;

	__asm__ volatile(".globl locked_add\nlocked_add: lock xadd %0, %1"
			 : "+r"(one), "+m"(*from) : : "cc", "memory");
	return one;
}

/* Everything in registers around it, the flags too, must stay as it is. */
static int others_hold(unsigned long *at)
{
	unsigned long a = 1, c = 3, d = 5, r15 = 0, flags = 0, old = *at, other = 9;
	unsigned char exchanged;

	__asm__ volatile("mov $7, %%r15\n\t"
			 "stc\n\t"
			 "lock incq %5\n\t"
			 "pushfq\n\tpop %4\n\t"
			 "lock decq %5\n\t"
			 "xchg %%r15, %6\n\t"
			 "xchg %%r15, %6\n\t"
			 "lock btsq $1, %5\n\t"
			 "lock btrq $1, %5\n\t"
			 "mov %%r15, %3"
			 : "+a"(a), "+c"(c), "+d"(d), "+r"(r15), "=&r"(flags), "+m"(*at),
			   "+m"(other) : : "cc", "memory", "r15");
	if (other != 9 || a != 1 || c != 3 || d != 5 || r15 != 7 || !(flags & 1) || *at != old)
		return 0;
	/* One that fails, then one that does not: rax and the zero flag are the results. */
	a = old + 1;
	__asm__ volatile("lock cmpxchg %3, %1\n\tsetz %2"
			 : "+a"(a), "+m"(*at), "=q"(exchanged) : "r"(5ul) : "cc", "memory");
	if (exchanged || a != old)
		return 0;
	__asm__ volatile("lock cmpxchg %3, %1\n\tsetz %2"
			 : "+a"(a), "+m"(*at), "=q"(exchanged) : "r"(old) : "cc", "memory");
	return exchanged && *at == old;
}

static int wide_holds(void)
{
	unsigned long a = ~0ul, d = ~0ul, b = 1, c = 2;
	unsigned char exchanged;

	/* Fails, as nobody stores such values; rdx:rax is what is there. */
	__asm__ volatile("lock cmpxchg16b %2\n\tsetz %3"
			 : "+a"(a), "+d"(d), "+m"(wide), "=q"(exchanged) : "b"(b), "c"(c)
			 : "cc", "memory");
	return !exchanged && a == d;
}

static void *work(void *arg)
{
	unsigned int me = (unsigned int)(unsigned long)arg, i;
	unsigned long own = 8;

	tid[me] = (unsigned int)gettid();
	for (i = 0; i < adds; i++) {
		number[me][i] = (unsigned int)take_number(&order);
		if (i % 16)
			continue;
		CHECK(others_hold(&own));
		CHECK(wide_holds());
		__atomic_exchange_n(&swapped, i, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	unsigned long i, k;

	if (argc > 1)
		adds = (unsigned int)atoi(argv[1]);
	for (i = 0; i < THREADS; i++)
		number[i] = calloc(adds + 1, sizeof(unsigned int));
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&t[i], NULL, work, (void *)i));
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(t[i], NULL));
	CHECK(order == (unsigned long)THREADS * adds);
	for (i = 0; i < THREADS; i++)
		for (k = 0; argc > 1 && k < adds; k++)
			printf("%u %u\n", tid[i], number[i][k]);
	mix(order);
	return argc > 1 ? 0 : finish("locked");
}
