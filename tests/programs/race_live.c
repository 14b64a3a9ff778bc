// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two threads race at once; then nothing is written for as long as the argument says, in
 * seconds: all threads wait, each in a way of its own.
 * Suite: races
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int counter;
static int pipe_fd[2];
static sem_t sem;

static void *racer(void *arg)
{
	counter++;
	sem_wait(&sem);
	return arg;
}

static void *reader(void *arg)
{
	char c;

	if (read(pipe_fd[0], &c, 1) != 1)
		abort();
	return arg;
}

static void *parent(void *seconds)
{
	pid_t pid = fork();

	if (!pid) {
		sleep(*(int *)seconds);
		_exit(0);
	}
	if (waitpid(pid, NULL, 0) != pid)
		abort();
	return seconds;
}

static void *poller(void *arg)
{
	struct pollfd p = { .fd = pipe_fd[0], .events = POLLIN };

	if (poll(&p, 1, -1) != 1)
		abort();
	return arg;
}

int main(int argc, char **argv)
{
	void *(*const f[])(void *) = { racer, racer, reader, poller, parent };
	int seconds = argc > 1 ? atoi(argv[1]) : 0, i;
	pthread_t t[5];

	if (pipe(pipe_fd) || sem_init(&sem, 0, 0))
		return 1;
	for (i = 0; i < 5; i++)
		if (pthread_create(&t[i], NULL, f[i], &seconds))
			return 1;
	/* Its child is what this waits for. */
	pthread_join(t[4], NULL);
	if (argc > 2 && !strcmp(argv[2], "killed"))
		raise(SIGKILL);
	puts("over");
	fflush(stdout);
	if (write(pipe_fd[1], "xx", 2) != 2)
		return 1;
	sem_post(&sem);
	sem_post(&sem);
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 0;
}
