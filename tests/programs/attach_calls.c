// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: attach.  attach_calls SECONDS [COPIES], or 0 for until SIGUSR2: threads in calls whose
 * results a stop by ptrace would change, in calls that the kernel restarts, and in none.  Each
 * checks every result and, roughly, the time it took.  COPIES: so many threads for each call with
 * a time-out; 0: only one thread, which makes these calls in turn.
 * Exits with 1 at the first wrong result.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_MS	20
#define LARGE		(1 << 20)

static atomic_bool over;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void check(const char *what, long result, long want, int error)
{
	int e = errno;

	if (result == want && (!error || e == error))
		return;
	printf("%s: %ld, not %ld (%s)\n", what, result, want, strerror(e));
	exit(1);
}

/* The thread may have waited for the processor as well, so there is only a lower bound. */
static void check_time(const char *what, double begun)
{
	double ms = (now() - begun) * 1000;

	if (ms >= PAUSE_MS - 1)
		return;
	printf("%s: after %.1f ms\n", what, ms);
	exit(1);
}

static void check_count(const char *what, unsigned long count)
{
	if (count)
		return;
	printf("%s: never\n", what);
	exit(1);
}

/* ---- calls with a time-out; each returns what it must when that is over ---- */

static void in_epoll(void)
{
	static _Thread_local int fd;
	struct epoll_event e;

	if (!fd)
		fd = epoll_create1(0);
	check("epoll_wait", epoll_wait(fd, &e, 1, PAUSE_MS), 0, 0);
}

static void in_semtimedop(void)
{
	static _Thread_local int id = -1;
	struct timespec t = { .tv_nsec = PAUSE_MS * 1000000 };
	struct sembuf op = { .sem_op = -1 };

	if (id < 0) {
		id = semget(IPC_PRIVATE, 1, 0600);
		/* It exists until the last call on it returns. */
		if (id < 0)
			exit(2);
	}
	check("semtimedop", semtimedop(id, &op, 1, &t), -1, EAGAIN);
	if (over)
		semctl(id, 0, IPC_RMID);
}

static void in_sigtimedwait(void)
{
	struct timespec t = { .tv_nsec = PAUSE_MS * 1000000 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	check("sigtimedwait", sigtimedwait(&set, NULL, &t), -1, EAGAIN);
}

static void in_recv(void)
{
	static _Thread_local int fd[2];
	struct timeval t = { .tv_usec = PAUSE_MS * 1000 };
	char c;

	if (!fd[1]) {
		socketpair(AF_UNIX, SOCK_STREAM, 0, fd);
		setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	}
	check("recv", recv(fd[0], &c, 1, 0), -1, EAGAIN);
}

/* Without a time-out of its own: another thread sends when it is over. */
static void *send_later(void *arg)
{
	const struct timespec t = { .tv_nsec = PAUSE_MS * 1000000 };

	nanosleep(&t, NULL);
	check("send", send(*(int *)arg, "x", 1, 0), 1, 0);
	return arg;
}

static void in_recvmsg(void)
{
	static _Thread_local int sockets[2];
	char c = 0;
	struct iovec part = { &c, 1 };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	pthread_t t;

	if (!sockets[1])
		socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
	pthread_create(&t, NULL, send_later, &sockets[1]);
	check("recvmsg", recvmsg(sockets[0], &m, 0), 1, 0);
	check("its byte", c, 'x', 0);
	pthread_join(t, NULL);
}

static void in_nanosleep(void)
{
	struct timespec t = { .tv_nsec = PAUSE_MS * 1000000 };

	check("nanosleep", nanosleep(&t, NULL), 0, 0);
}

static void in_poll(void)
{
	check("poll", poll(NULL, 0, PAUSE_MS), 0, 0);
}

static void in_futex(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += PAUSE_MS * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	pthread_mutex_lock(&m);
	check("futex", pthread_cond_timedwait(&c, &m, &t), ETIMEDOUT, 0);
	pthread_mutex_unlock(&m);
}

struct timed {
	const char *name;
	void (*call)(void);
	atomic_ulong count;
};

static void run_once(struct timed *t)
{
	double begun = now();

	t->call();
	check_time(t->name, begun);
	t->count++;
}

static void *run_timed(void *arg)
{
	while (!over)
		run_once(arg);
	return NULL;
}

/* Until SIGUSR2, which is blocked. */
static void run_alone(struct timed *timed, int n)
{
	const struct timespec none = { 0 };
	sigset_t set;
	int i;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	while (sigtimedwait(&set, NULL, &none) < 0)
		for (i = 0; i < n; i++)
			run_once(&timed[i]);
}

/* ---- calls that return when all of their data has been transferred ---- */

struct transfer {
	const char *name;
	int fd[2];		/* read from and written to */
	int flags;		/* of recv(); -1: read() */
	unsigned long count;
};

/* One block at a time, with pauses, until the other end is closed. */
static void *slowly(void *arg)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	struct transfer *t = arg;
	static char buf[1 << 16];
	ssize_t n;

	if (t->flags >= 0) {
		while (!over && (n = send(t->fd[1], buf, 5000, MSG_NOSIGNAL)) > 0)
			nanosleep(&ms, NULL);
		shutdown(t->fd[1], SHUT_WR);
	} else {
		while (read(t->fd[0], buf, sizeof(buf)) > 0)
			nanosleep(&ms, NULL);
	}
	return NULL;
}

static void *all_at_once(void *arg)
{
	struct transfer *t = arg;
	char *buf = calloc(1, LARGE);
	ssize_t n;

	while (!over) {
		if (t->flags >= 0) {
			n = recv(t->fd[0], buf, 100000, t->flags);
			if (over)
				break;
			check(t->name, n, 100000, 0);
		} else {
			check(t->name, write(t->fd[1], buf, LARGE), LARGE, 0);
		}
		t->count++;
	}
	if (t->flags < 0)
		close(t->fd[1]);
	free(buf);
	return NULL;
}

/* ---- no calls ---- */

static void *busy(void *arg)
{
	unsigned long *count = arg;
	volatile unsigned long sum = 0;

	while (!over) {
		for (int i = 0; i < 1000000; i++)
			sum += (unsigned long)i;
		++*count;
	}
	return NULL;
}

static void *nothing(void *arg)
{
	return arg;
}

/* Threads begin and end all the time. */
static void *creator(void *arg)
{
	const struct timespec pause = { .tv_nsec = 200000 };
	unsigned long *count = arg;
	pthread_t t;

	while (!over) {
		check("pthread_create", pthread_create(&t, NULL, nothing, NULL), 0, 0);
		pthread_join(t, NULL);
		++*count;
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct timed timed[] = {
		{ "epoll_wait", in_epoll, 0 }, { "semtimedop", in_semtimedop, 0 },
		{ "sigtimedwait", in_sigtimedwait, 0 }, { "recv", in_recv, 0 },
		{ "nanosleep", in_nanosleep, 0 }, { "poll", in_poll, 0 }, { "futex", in_futex, 0 },
		/* the last one, which needs another thread */
		{ "recvmsg", in_recvmsg, 0 },
	};
	static struct transfer whole[] = {
		{ "write", { 0 }, -1, 0 }, { "MSG_WAITALL", { 0 }, MSG_WAITALL, 0 },
	};
	enum { NTIMED = sizeof(timed) / sizeof(timed[0]), NWHOLE = 2, COPIES = 100,
	       N = NTIMED * COPIES + 2 * NWHOLE + 2 };
	unsigned long computed = 0, created = 0;
	int i, n = 0, seconds = argc > 1 ? atoi(argv[1]) : 1;
	int copies = argc > 2 ? atoi(argv[2]) : 1;
	struct timespec rest = { .tv_sec = seconds };
	pthread_t t[N];
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (!copies) {
		puts("running");
		fflush(stdout);
		run_alone(timed, NTIMED - 1);
		puts("all calls returned what they must");
		return 0;
	}
	if (copies > COPIES || pipe(whole[0].fd) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, whole[1].fd))
		return 2;
	for (i = 0; i < NTIMED * copies; i++)
		pthread_create(&t[n++], NULL, run_timed, &timed[i % NTIMED]);
	for (i = 0; i < NWHOLE; i++) {
		pthread_create(&t[n++], NULL, slowly, &whole[i]);
		pthread_create(&t[n++], NULL, all_at_once, &whole[i]);
	}
	pthread_create(&t[n++], NULL, busy, &computed);
	pthread_create(&t[n++], NULL, creator, &created);
	puts("running");
	fflush(stdout);
	if (seconds)
		check("main's nanosleep", nanosleep(&rest, NULL), 0, 0);
	else
		check("main's sigwait", sigwait(&set, &sig), 0, 0);
	over = true;
	while (n)
		pthread_join(t[--n], NULL);
	for (i = 0; i < NTIMED; i++)
		check_count(timed[i].name, timed[i].count);
	for (i = 0; i < NWHOLE; i++)
		check_count(whole[i].name, whole[i].count);
	check_count("computing", computed);
	check_count("pthread_create", created);
	puts("all calls returned what they must");
	return 0;
}
