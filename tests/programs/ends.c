// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  A process that ends while its threads run: ends [HOW].  exit (the
 * default), exec, segv, trap, abort, kill, both (two threads exit at once), thread (one that
 * is not the first exits), vfork (a child goes first), fails (an execve that fails, many
 * times: nobody must notice), wait (for somebody to kill it).
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

#define LOOPS	4

static volatile uint64_t progress[LOOPS];
static volatile int over, begun;
static int paced;	/* what would go on for long must not fill the rings */
static int pipe_of_nobody[2];

static void moments(unsigned int n)
{
	struct timespec t = { .tv_nsec = n * 1000000 };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static __attribute__((noinline)) uint64_t step(uint64_t *table, uint64_t x)
{
	table[x % 61] += x;
	return table[x * 7 % 61] * 0x9e3779b97f4a7c15 + 1;
}

static void *loop(void *arg)
{
	uintptr_t me = (uintptr_t)arg;
	uint64_t table[61] = { 0 }, x = me;
	char from[4096], to[4096];
	unsigned int i;

	memset(from, 1, sizeof(from));
	while (!over) {
		for (i = 0; i < 100; i++)
			x = step(table, x);
		if (me & 1) {
			size_t n = sizeof(to);
			void *s = from, *d = to;

			__asm__ volatile("rep movsb" : "+S"(s), "+D"(d), "+c"(n) : : "memory");
			x += to[x % sizeof(to)];
		}
		if (++progress[me] % 64 == 0 && paced)
			moments(1);
	}
	return NULL;
}

static void *reader(void *arg)
{
	char c;

	__atomic_fetch_or(&begun, 1, __ATOMIC_RELAXED);
	/* Nothing ever comes but the end of the file. */
	CHECK(read(pipe_of_nobody[0], &c, 1) == 0);
	return arg;
}

/* Calls that say so if a signal comes. */
static void *sleeper(void *arg)
{
	struct timespec t = { .tv_nsec = 300000 };
	struct pollfd p = { .fd = pipe_of_nobody[0], .events = POLLIN };

	__atomic_fetch_or(&begun, 2, __ATOMIC_RELAXED);
	while (!over) {
		CHECK(!nanosleep(&t, NULL));
		CHECK(poll(&p, 1, 1) >= 0);
	}
	return arg;
}

static void *nothing(void *arg)
{
	return arg;
}

static void *creator(void *arg)
{
	pthread_t t;
	int err;

	__atomic_fetch_or(&begun, 4, __ATOMIC_RELAXED);
	while (!over) {
		err = pthread_create(&t, NULL, nothing, NULL);
		/* The kernel makes no threads while another one is in execve. */
		CHECK(!err || err == EAGAIN);
		if (!err)
			pthread_join(t, NULL);
		moments(1);
	}
	return arg;
}

static void *ender(void *arg)
{
	_exit(0);
	return arg;
}

static void fail_many_times(void)
{
	char *argv[] = { (char *)"nothing", NULL };
	unsigned int i, k;

	for (i = 0; i < 20; i++) {
		uint64_t before = progress[i % LOOPS];

		CHECK(execv("/nonexistent/program", argv) == -1 && errno == ENOENT);
		for (k = 0; progress[i % LOOPS] == before; k++) {
			CHECK(k < 20000);
			moments(1);
		}
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "exit";
	pthread_t t[LOOPS + 3];
	unsigned int i;
	pid_t pid;

	if (!strcmp(how, "done")) {
		puts("done");
		return 0;
	}
	paced = !strcmp(how, "fails");
	puts(how);
	fflush(stdout);
	CHECK(!pipe(pipe_of_nobody));
	for (i = 0; i < LOOPS; i++)
		CHECK(!pthread_create(&t[i], NULL, loop, (void *)(uintptr_t)i));
	CHECK(!pthread_create(&t[LOOPS], NULL, reader, NULL));
	CHECK(!pthread_create(&t[LOOPS + 1], NULL, creator, NULL));
	CHECK(!pthread_create(&t[LOOPS + 2], NULL, sleeper, NULL));
	for (i = 0; i < LOOPS || begun != 7; i += i < LOOPS && progress[i])
		moments(1);

	if (!strcmp(how, "exec")) {
		execl("/proc/self/exe", "ends", "done", NULL);
	} else if (!strcmp(how, "segv")) {
		*(volatile int *)(uintptr_t)how[4] = 1;
	} else if (!strcmp(how, "trap")) {
		__asm__ volatile("int3");
	} else if (!strcmp(how, "abort")) {
		abort();
	} else if (!strcmp(how, "both")) {
		pthread_create(&t[0], NULL, ender, NULL);
		pthread_create(&t[0], NULL, ender, NULL);
		_exit(0);
	} else if (!strcmp(how, "thread")) {
		pthread_create(&t[0], NULL, ender, NULL);
		pause();
	} else if (!strcmp(how, "vfork")) {
		pid = vfork();
		if (!pid)
			_exit(0);
		CHECK(waitpid(pid, NULL, 0) == pid);
		_exit(0);
	} else if (!strcmp(how, "kill")) {
		raise(SIGKILL);
	} else if (!strcmp(how, "fails")) {
		fail_many_times();
		over = 1;
		close(pipe_of_nobody[1]);
		for (i = 0; i < LOOPS + 3; i++)
			pthread_join(t[i], NULL);
	} else if (!strcmp(how, "wait")) {
		for (;;)
			pause();
	}
	_exit(0);
}
