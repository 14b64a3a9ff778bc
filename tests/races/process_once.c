// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads of a process that shares memory with another one: pthread_once() by a thread that comes
 * after the routine has ended, and does nothing before that would show the order: its work before
 * takes long, but is a single instruction.
 */
#include <sys/mman.h>
#include <sys/wait.h>

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
	int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ret;

	CHECK(shared != MAP_FAILED);
	*shared = 1;
	if (!fork()) {
		USE(*shared);
		_exit(0);
	}
	ret = both(first, second);
	CHECK(wait(NULL) > 0);
	return ret;
}
