// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: first-engine.
 *
 * mappings [all]: make many mappings, or as many as the kernel allows, give back a few, and make
 * threads, one after the other, which run code that they write.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common.h"

#define PAGE	4096
#define MOST	200000
#define SPARE	40
#define THREADS	4

static unsigned char *code;
static pthread_barrier_t barrier;
static sem_t there;

static void *thread(void *arg)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	unsigned char insns[6] = { 0xb8, 0, 0, 0, 0, 0xc3 };
	intptr_t sum_of = 0;

	/* It is there: the next one may be made. */
	sem_post(&there);
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&lock);
		memcpy(insns + 1, &i, 4);
		memcpy(code, insns, sizeof(insns));
		sum_of += ((int (*)(void))code)() + (intptr_t)arg;
		pthread_mutex_unlock(&lock);
	}
	pthread_barrier_wait(&barrier);
	return (void *)sum_of;
}

int main(int argc, char **argv)
{
	static unsigned char *made[MOST];
	int most = argc > 1 && !strcmp(argv[1], "all") ? MOST : 1000;
	pthread_t t[THREADS];
	void *ret;
	int n = 0;

	code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	CHECK(code != MAP_FAILED);
	/* Neighbours that differ are not merged. */
	while (n < most && (made[n] = mmap(NULL, PAGE, n & 1 ? PROT_READ : PROT_NONE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED)
		n++;
	printf("%s\n", n < most ? "all made" : "no limit");
	for (int i = 0; i < SPARE; i++)
		CHECK(!munmap(made[--n], PAGE));
	CHECK(!pthread_barrier_init(&barrier, NULL, THREADS));
	CHECK(!sem_init(&there, 0, 0));
	for (intptr_t i = 0; i < THREADS; i++) {
		CHECK(!pthread_create(&t[i], NULL, thread, (void *)i));
		while (sem_wait(&there))
			;
	}
	for (int i = 0; i < THREADS; i++) {
		CHECK(!pthread_join(t[i], &ret));
		mix((uint64_t)(intptr_t)ret);
	}
	return finish("mappings");
}
