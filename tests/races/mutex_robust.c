// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A robust mutex whose owner died orders the next owner after it; a thread that does not lock is
 * not ordered.
 * tsan: racy only, because for it a thread that dies releases nothing
 */
#include "races.h"

static pthread_mutex_t lock;
static int counter;

static void *owner(void *arg)
{
	pthread_mutex_lock(&lock);
	counter++; /* RACE: counter variable=counter */
	tell(gettid());
	return arg;
}

static void *heir(void *arg)
{
	await_end(hear(NOTHING));
	RIGHT_ONLY(CHECK(pthread_mutex_lock(&lock) == EOWNERDEAD));
	counter++; /* RACE: counter */
	RIGHT_ONLY(pthread_mutex_consistent(&lock));
	RIGHT_ONLY(pthread_mutex_unlock(&lock));
	return arg;
}

int main(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&lock, &attr);
	return both(owner, heir);
}
