// SPDX-License-Identifier: GPL-2.0-or-later
/* Suite: output.  One thread writes code, others run it, handed over by a barrier. */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "common.h"

#define THREADS	3
#define LAPS	200

static uint8_t *page;
static pthread_barrier_t written, ran;
static uint64_t sums[THREADS];

static void *worker(void *arg)
{
	uint64_t *total = arg;
	int i, k;

	for (i = 0; i < LAPS; i++) {
		pthread_barrier_wait(&written);
		for (k = 0; k < 20; k++)
			*total += ((uint32_t (*)(void))page)();
		pthread_barrier_wait(&ran);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];
	uint32_t i;

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	pthread_barrier_init(&written, NULL, THREADS + 1);
	pthread_barrier_init(&ran, NULL, THREADS + 1);
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&t[i], NULL, worker, &sums[i]));
	for (i = 0; i < LAPS; i++) {
		page[0] = 0xb8;
		memcpy(page + 1, &i, 4);
		page[5] = 0xc3;
		pthread_barrier_wait(&written);
		pthread_barrier_wait(&ran);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		CHECK(sums[i] == 20ull * LAPS * (LAPS - 1) / 2);
	}
	mix(sums[0]);
	return finish("code_threads");
}
