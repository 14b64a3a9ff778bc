// SPDX-License-Identifier: GPL-2.0-or-later
/* Suite: output.  100 threads (or as many as asked for) at once, working and locking. */
#include <pthread.h>
#include <string.h>

#include "common.h"

#define MAX	1000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static uint64_t results[MAX];
static int counter, turn;
static __thread uint64_t tls = 7;

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void *worker(void *arg)
{
	unsigned int me = (uintptr_t)arg, i;
	uint32_t v[200], s = me + 1;

	pthread_barrier_wait(&barrier);
	for (i = 0; i < 200; i++)
		v[i] = s = s * 1664525 + 1013904223;
	qsort(v, 200, sizeof(*v), compare);
	for (i = 0; i < 200; i++)
		tls = tls * 31 + v[i];
	for (i = 0; i < 100; i++) {
		pthread_mutex_lock(&lock);
		counter++;
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	while (turn != (int)me)
		pthread_cond_wait(&cond, &lock);
	turn++;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
	results[me] = tls;
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned int n = argc > 1 ? atoi(argv[1]) : 100, i;
	pthread_t t[MAX];

	CHECK(n > 0 && n <= MAX);
	pthread_barrier_init(&barrier, NULL, n);
	for (i = 0; i < n; i++)
		CHECK(!pthread_create(&t[i], NULL, worker, (void *)(uintptr_t)i));
	for (i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	CHECK(counter == (int)n * 100 && turn == (int)n);
	mix_bytes(results, n * sizeof(*results));
	return finish("threads_100");
}
