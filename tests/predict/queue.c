// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A queue under a lock passes blocks; the receiver reads its block, and the racy sender still
 * writes to a block that it has queued.
 */
#include "../races/races.h"

#define N	20

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct job { volatile int value; } job[N];
static struct job *queue[N];
static int put, got;

static void *first(void *arg)
{
	int i;

	for (i = 0; i < N; i++) {
		job[i].value = i;
		pthread_mutex_lock(&lock);
		queue[put++] = &job[i];
		pthread_mutex_unlock(&lock);
		RACY_ONLY(job[i].value++); /* RACE: job variable=job */
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void *second(void *arg)
{
	struct job *j;

	usleep(100000);
	while (got < N) {
		j = NULL;
		pthread_mutex_lock(&lock);
		if (got < put)
			j = queue[got++];
		pthread_mutex_unlock(&lock);
		if (j)
			USE(j->value); /* RACE: job */
	}
	return arg;
}

int main(void)
{
	return both(first, second);
}
