// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  Flags: -pthread.  Data on a page of code that runs all the time: threads
 * that count there, each in its own word, and let the kernel write there.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"

#define WRITERS	3
#define TIMES	40000

static unsigned char *page;
static volatile int done;

static void *run(void *unused)
{
	uint32_t (*code)(void) = (uint32_t (*)(void))page;
	uint64_t n = 0;

	(void)unused;
	while (!done)
		n += code();
	CHECK(n % 5 == 0);
	return NULL;
}

static void *count(void *arg)
{
	volatile uint64_t *word = (uint64_t *)(page + 2048) + (uintptr_t)arg;
	int fd[2];

	CHECK(!pipe(fd));
	for (uint64_t i = 0; i < TIMES; i++) {
		uint64_t next = *word + 1;

		if (i % 16) {
			*word = next;
			continue;
		}
		CHECK(write(fd[1], &next, 8) == 8);
		CHECK(read(fd[0], (void *)word, 8) == 8);
	}
	CHECK(*word == TIMES);
	close(fd[0]);
	close(fd[1]);
	return NULL;
}

int main(void)
{
	static const unsigned char code[] = { 0xb8, 5, 0, 0, 0, 0xc3 };	/* mov $5, %eax; ret */
	pthread_t runner, writer[WRITERS];

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	CHECK(page != MAP_FAILED);
	memcpy(page, code, sizeof(code));
	CHECK(!pthread_create(&runner, NULL, run, NULL));
	for (uintptr_t i = 0; i < WRITERS; i++)
		CHECK(!pthread_create(&writer[i], NULL, count, (void *)i));
	for (int i = 0; i < WRITERS; i++)
		CHECK(!pthread_join(writer[i], NULL));
	done = 1;
	CHECK(!pthread_join(runner, NULL));
	mix_bytes(page + 2048, 8 * WRITERS);
	return finish("code_data");
}
