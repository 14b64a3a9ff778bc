// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: attach.  attach_threads SECONDS, or until SIGUSR2: threads that compute, sleep, wait for
 * each other, create threads, fault, and handle signals on an alternate stack and in the middle of
 * sleeps.
 * Each checks what it sees.
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
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_MS	20
#define STACK		65536
#define VALUE		4711	/* sent with SIGUSR1 */
#define PAGE		4096

static atomic_bool over;
static atomic_ulong on_stack, off_stack, interrupted, bad_info, faults, traps;
static char *page;
static _Thread_local char *stack;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static unsigned long guarded, woken;

static void stop(int sig)
{
	(void)sig;
	over = true;
}

static void wrong(const char *what, long result)
{
	printf("%s: %ld (%s)\n", what, result, strerror(errno));
	exit(1);
}

/* The handler runs on the thread's alternate stack. */
static void handler(int sig, siginfo_t *info, void *context)
{
	char here;

	(void)context;
	if (sig == SIGUSR1 && (info->si_code != SI_QUEUE || info->si_pid != getpid() ||
			       info->si_value.sival_int != VALUE))
		bad_info++;
	if (stack && &here >= stack && &here < stack + STACK)
		on_stack++;
	else
		off_stack++;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (sig == SIGTRAP)
		traps++;
	else if (info->si_addr == page && !mprotect(page, PAGE, PROT_READ | PROT_WRITE))
		faults++;
	else
		wrong("a fault", sig);
}

/* Each fault and each trap runs its handler once. */
static void *faulting(void *arg)
{
	unsigned long n = 0;

	while (!over) {
		mprotect(page, PAGE, PROT_NONE);
		*(volatile char *)page = 1;
		__asm__ volatile("int3");
		n++;
		if (faults != n || traps != n)
			wrong("faults", (long)n);
	}
	return arg;
}

/* Computes the same numbers again and again, and is interrupted by a timer. */
static void *computing(void *arg)
{
	unsigned long first = 0, x, i;
	stack_t ss = { .ss_size = STACK }, now;
	sigset_t set;

	ss.ss_sp = stack = malloc(STACK);
	if (sigaltstack(&ss, NULL))
		wrong("sigaltstack", -1);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	while (!over) {
		for (x = 1, i = 0; i < 200000; i++)
			x = x * 6364136223846793005ul + 1442695040888963407ul;
		if (first && x != first)
			wrong("computing", (long)i);
		first = x;
		if (sigaltstack(NULL, &now) || now.ss_sp != ss.ss_sp || now.ss_flags ||
		    now.ss_size != ss.ss_size)
			wrong("the alternate stack has changed", now.ss_flags);
	}
	return arg;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Sleeps that SIGUSR1 interrupts, sometimes: what is left and what has passed add up. */
static void *sleeping(void *arg)
{
	struct timespec t = { .tv_nsec = PAUSE_MS * 1000000 }, left;
	double begun, rest;

	while (!over) {
		begun = now_ms();
		left.tv_nsec = 0;
		if (nanosleep(&t, &left)) {
			if (errno != EINTR)
				wrong("nanosleep", -1);
			interrupted++;
		}
		rest = (double)left.tv_nsec / 1e6;
		if (now_ms() - begun + rest < PAUSE_MS - 1)
			wrong("nanosleep ends early, with ms left", (long)rest);
	}
	return arg;
}

static void *polling(void *arg)
{
	int n;

	while (!over) {
		n = poll(NULL, 0, PAUSE_MS);
		/* SIGUSR2 ends it, and any thread may receive that. */
		if (n && !over)
			wrong("poll", n);
	}
	return arg;
}

static void *waiting(void *arg)
{
	pthread_mutex_lock(&mutex);
	while (!over) {
		guarded++;
		woken++;
		pthread_cond_wait(&cond, &mutex);
	}
	pthread_mutex_unlock(&mutex);
	return arg;
}

static void *waking(void *arg)
{
	unsigned long n = 0;

	while (!over) {
		usleep(3000);
		pthread_mutex_lock(&mutex);
		guarded++;
		n++;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&mutex);
	}
	*(unsigned long *)arg = n;
	return NULL;
}

static void *nothing(void *arg)
{
	return arg;
}

static void *creating(void *arg)
{
	pthread_t t;

	while (!over) {
		if (pthread_create(&t, NULL, nothing, (void *)&over))
			wrong("pthread_create", -1);
		if (pthread_join(t, &arg) || arg != &over)
			wrong("pthread_join", -1);
		usleep(500);
	}
	return NULL;
}

static void *interrupting(void *arg)
{
	const union sigval value = { .sival_int = VALUE };

	while (!over) {
		usleep(7000);
		pthread_sigqueue(*(pthread_t *)arg, SIGUSR1, value);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = handler,
				.sa_flags = SA_RESTART | SA_ONSTACK | SA_SIGINFO };
	const struct itimerval tick = { { 0, 5000 }, { 0, 5000 } };
	int i, n = 0, seconds = argc > 1 ? atoi(argv[1]) : 1;
	double end = now_ms() + seconds * 1000;
	unsigned long wakes = 0;
	struct sigaction fault = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	pthread_t t[8];
	sigset_t set;

	sigaction(SIGALRM, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGTRAP, &fault, NULL);
	signal(SIGUSR2, stop);
	page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		wrong("mmap", -1);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&t[n++], NULL, sleeping, NULL);
	pthread_create(&t[n++], NULL, interrupting, &t[0]);
	pthread_create(&t[n++], NULL, computing, NULL);
	pthread_create(&t[n++], NULL, polling, NULL);
	pthread_create(&t[n++], NULL, waiting, NULL);
	pthread_create(&t[n++], NULL, waking, &wakes);
	pthread_create(&t[n++], NULL, creating, NULL);
	pthread_create(&t[n++], NULL, faulting, NULL);
	setitimer(ITIMER_REAL, &tick, NULL);
	puts("running");
	fflush(stdout);
	while (now_ms() < end && !over)
		usleep(10000);
	over = true;
	pthread_mutex_lock(&mutex);
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
	for (i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	if (guarded != wakes + woken)
		wrong("what the mutex guards", (long)guarded);
	if (!on_stack || !off_stack || !interrupted)
		wrong("a handler has never run", (long)on_stack);
	if (bad_info)
		wrong("what is sent with a signal", (long)bad_info);
	puts("all as it must be");
	return 0;
}
