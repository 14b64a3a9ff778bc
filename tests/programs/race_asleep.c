// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two threads race at once, and others sleep in all kinds of calls.  After a while the argument
 * says how the process ends, while they still do; or "message": one of them was to receive a
 * message into memory that another one writes to, and gets it.
 * Suite: races
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static int counter;
static char buffer[64];
static int sockets[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void *waits(void *arg)
{
	counter++;
	pthread_mutex_lock(&mutex);
	for (;;)
		pthread_cond_wait(&never, &mutex);
	return arg;
}

static void *pauses(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void *naps(void *arg)
{
	for (;;)
		usleep(3000);
	return arg;
}

static void *polls(void *arg)
{
	for (;;)
		poll(NULL, 0, -1);
	return arg;
}

static void *waits_for_files(void *arg)
{
	struct epoll_event e;
	int fd = epoll_create1(0);

	for (;;)
		epoll_wait(fd, &e, 1, -1);
	return arg;
}

static void *receives(void *arg)
{
	struct iovec v = { buffer, sizeof(buffer) };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	if (recvmsg(sockets[0], &m, 0) < 0)
		abort();
	return arg;
}

static void *writes(void *arg)
{
	buffer[1] = 1;
	return arg;
}

static int end(const char *how)
{
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "killed"))
		raise(SIGKILL);
	if (!strcmp(how, "exec"))
		execl("/bin/true", "true", NULL);
	if (!strcmp(how, "_exit"))
		_exit(0);
	return 0;
}

int main(int argc, char **argv)
{
	void *(*const f[])(void *) = {
		receives, writes, waits, waits, pauses, naps, polls, waits_for_files,
	};
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t t[8];
	int i, n = strcmp(how, "message") ? 8 : 2;

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets))
		return 1;
	for (i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, f[i], NULL))
			return 1;
	usleep(500000);
	puts("asleep");
	fflush(stdout);
	if (n == 8)
		return end(how);
	if (write(sockets[1], "hello", 5) != 5)
		return 1;
	for (i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	return 0;
}
