// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pthread_once() by a thread that comes after the routine has ended, and does nothing before that
 * would show the order: its work before takes long, but is a single instruction.
 */
#include "races.h"

#define LONG	(20ul << 20)

static pthread_once_t once = PTHREAD_ONCE_INIT;
char much[LONG];
int value;

static void init(void)
{
	value = 42; /* RACE: init variable=value */
}

static void *first(void *arg)
{
	nap();
	pthread_once(&once, init);
	return arg;
}

static void *second(void *arg)
{
	unsigned long n = LONG;
	char *p = much;

	__asm__ volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(1) : "memory");
	RIGHT_ONLY(pthread_once(&once, init);)
	USE(value); /* RACE: init */
	return arg;
}

int main(void)
{
	return both(first, second);
}
