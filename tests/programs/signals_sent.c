// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  A thread raises faults, and sends itself SIGSEGV, while another thread sends it
 * SIGBUS: each signal runs its own handler once, and the mask is kept.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "common.h"

#define SENT	300
#define WAIT_S	60

static atomic_uint received;
static atomic_bool over;
static unsigned int faults, own;

__attribute__((noreturn))
static void wrong(const char *what, long value)
{
	printf("wrong: %s, %ld\n", what, value);
	fflush(stdout);
	_exit(1);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)info;
	if (sig != SIGILL)
		wrong("signal of a fault", sig);
	faults++;
	uc->uc_mcontext.gregs[REG_RIP] += 2;
}

static void on_own(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (sig != SIGSEGV || info->si_code != SI_TKILL)
		wrong("signal that the thread sends itself", sig);
	own++;
}

static void on_sent(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (sig != SIGBUS || info->si_code != SI_QUEUE)
		wrong("sent signal", sig);
	if (info->si_value.sival_int != (int)++received)
		wrong("number of a sent signal", info->si_value.sival_int);
}

static void *raises(void *arg)
{
	unsigned int n = 0;
	sigset_t mask;

	while (!over) {
		__asm__ volatile("ud2" : : : "memory");
		pthread_kill(pthread_self(), SIGSEGV);
		n++;
		if (faults != n || own != n)
			wrong("handlers that did not run once", (long)n);
		pthread_sigmask(SIG_BLOCK, NULL, &mask);
		for (int sig = 1; sig < NSIG; sig++)
			if (sigismember(&mask, sig) == 1)
				wrong("signal that is blocked", sig);
	}
	return arg;
}

static void set_handler(int sig, void (*f)(int, siginfo_t *, void *))
{
	struct sigaction sa = { .sa_sigaction = f, .sa_flags = SA_SIGINFO };

	sigfillset(&sa.sa_mask);
	sigaction(sig, &sa, NULL);
}

int main(void)
{
	union sigval value = { 0 };
	time_t limit = time(NULL) + WAIT_S;
	pthread_t t;

	set_handler(SIGILL, on_fault);
	set_handler(SIGSEGV, on_own);
	set_handler(SIGBUS, on_sent);
	pthread_create(&t, NULL, raises, NULL);
	/* One at a time: the kernel queues only one of a number. */
	while (value.sival_int < SENT) {
		value.sival_int++;
		pthread_sigqueue(t, SIGBUS, value);
		while (received != (unsigned int)value.sival_int) {
			if (time(NULL) > limit)
				wrong("a sent signal is lost", (long)received);
			sched_yield();
		}
	}
	over = true;
	pthread_join(t, NULL);
	printf("%u signals sent and received\n", received);
	return 0;
}
