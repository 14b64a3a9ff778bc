// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two processes race in memory that they share, while each holds locks of its own memory: a lock's
 * name, its block and what may be one are those of the process that held it.
 *
 * The second one is the same program at another address.  Both have had a second thread: what a
 * process has for itself is not looked at before.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t parents = PTHREAD_MUTEX_INITIALIZER, childs = PTHREAD_MUTEX_INITIALIZER;
static int parents_own, childs_own;
static struct { int x; pthread_mutex_t lock; } *block;

static void *nothing(void *arg)
{
	return arg;
}

static void each(int *word, pthread_mutex_t *mine, int *own)
{
	pthread_t t;

	pthread_create(&t, NULL, nothing, NULL);
	pthread_join(t, NULL);
	pthread_mutex_lock(mine);
	word[0]++;
	pthread_mutex_unlock(mine);
	block = malloc(sizeof(*block));
	pthread_mutex_init(&block->lock, NULL);
	pthread_mutex_lock(&block->lock);
	word[1]++;
	pthread_mutex_unlock(&block->lock);
	while (__atomic_exchange_n(own, 1, __ATOMIC_ACQUIRE))
		;
	word[2]++;
	__atomic_store_n(own, 0, __ATOMIC_RELEASE);
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? atoi(argv[1]) : memfd_create("shared", 0);
	char number[12];
	int *word;

	if (fd < 0 || ftruncate(fd, 4096))
		return 1;
	word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (word == MAP_FAILED)
		return 1;
	if (argc > 1) {
		usleep(200000);
		each(word, &childs, &childs_own);
		return 0;
	}
	snprintf(number, sizeof(number), "%d", fd);
	if (!fork()) {
		execl("/proc/self/exe", argv[0], number, NULL);
		_exit(1);
	}
	each(word, &parents, &parents_own);
	return wait(NULL) < 0;
}
