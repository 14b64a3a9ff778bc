// SPDX-License-Identifier: GPL-2.0-or-later
/* Suite: output.  Signals to threads, to the process, and waited for. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "common.h"

#define THREADS	4
#define ROUNDS	40

static __thread volatile int mine;
static volatile int done, shared;
static int sent[THREADS], counted[THREADS];

static void handler(int sig)
{
	(void)sig;
	mine++;
}

static void to_all(int sig)
{
	(void)sig;
	__atomic_add_fetch(&shared, 1, __ATOMIC_SEQ_CST);
}

static void *worker(void *arg)
{
	int *count = arg;
	volatile uint64_t x = 1;
	int seen = 0;

	while (!done || mine < sent[count - counted]) {
		x++;
		if (!(x & 0x3ff))
			sched_yield();
		if (mine != seen) {
			seen = mine;
			__atomic_store_n(count, seen, __ATOMIC_SEQ_CST);
		}
	}
	__atomic_store_n(count, mine, __ATOMIC_SEQ_CST);
	return NULL;
}

static void *waiter(void *arg)
{
	sigset_t set;
	int sig, i;

	(void)arg;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	for (i = 0; i < 20; i++)
		CHECK(!sigwait(&set, &sig) && sig == SIGUSR2 &&
		      !kill(getpid(), SIGHUP));
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler }, all = { .sa_handler = to_all };
	pthread_t threads[THREADS], w;
	sigset_t set;
	int i, r;

	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGHUP, &all, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, worker, &counted[i]));
	for (r = 0; r < ROUNDS; r++) {
		for (i = 0; i < THREADS; i++) {
			CHECK(!pthread_kill(threads[i], SIGUSR1));
			sent[i]++;
			while (__atomic_load_n(&counted[i], __ATOMIC_SEQ_CST) < sent[i])
				sched_yield();
		}
	}
	done = 1;
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		CHECK(counted[i] == ROUNDS);
	}
	CHECK(!pthread_create(&w, NULL, waiter, NULL));
	for (i = 0; i < 20; i++) {
		CHECK(!kill(getpid(), SIGUSR2));
		while (shared <= i)
			sched_yield();
	}
	pthread_join(w, NULL);
	mix(shared);
	return finish("signals_threads");
}
