// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  exit_group while threads run, block, and are being created; a main
 * thread that leaves first; a process killed by a signal with threads in it.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

static volatile uint64_t spin_words;
static int fds[2];

static void *spin(void *arg)
{
	while (spin_words + 1)
		spin_words++;
	return arg;
}

static void *block(void *arg)
{
	char c;

	(void)arg;
	CHECK(read(fds[0], &c, 1) == 1);
	return NULL;
}

static void *nothing(void *arg)
{
	return arg;
}

static void *create(void *arg)
{
	pthread_t t;

	while (spin_words + 1)
		if (!pthread_create(&t, NULL, nothing, NULL))
			pthread_join(t, NULL);
	return arg;
}

static void *leave(void *arg)
{
	(void)arg;
	usleep(3000);
	exit(43);
}

static void *die(void *arg)
{
	(void)arg;
	usleep(3000);
	raise(SIGKILL);
	return NULL;
}

static int child(void *(*last)(void *), int main_leaves)
{
	pthread_t t;
	int i;

	for (i = 0; i < 3; i++) {
		pthread_create(&t, NULL, spin, NULL);
		pthread_create(&t, NULL, block, NULL);
	}
	pthread_create(&t, NULL, create, NULL);
	if (last)
		pthread_create(&t, NULL, last, NULL);
	usleep(2000);
	if (main_leaves)
		pthread_exit(NULL);
	if (last)
		pthread_join(t, NULL);
	_exit(42);
}

static void expect(void *(*last)(void *), int main_leaves, int status)
{
	pid_t pid = fork();
	int got;

	if (!pid)
		child(last, main_leaves);
	CHECK(waitpid(pid, &got, 0) == pid);
	CHECK(WIFSIGNALED(got) ? WTERMSIG(got) == -status : WEXITSTATUS(got) == status);
	mix(got);
}

int main(void)
{
	int i;

	CHECK(!pipe(fds));
	for (i = 0; i < 10; i++) {
		expect(NULL, 0, 42);
		expect(leave, 0, 43);
		expect(leave, 1, 43);
		expect(die, 0, -SIGKILL);
	}
	return finish("thread_exit");
}
