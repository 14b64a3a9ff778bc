// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  Threads end by the system call exit, with signals unblocked, while signals are
 * sent to the process: each signal runs its handler once, in a thread that has not ended.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

#define SENT	1000
#define QUEUED	4	/* maximum number that was sent and not received */
#define WAIT_S	60

static atomic_int sent, received;
static atomic_uint times[SENT];

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	times[info->si_value.sival_int]++;
	received++;
}

static void *ends(void *arg)
{
	sigset_t set;

	sigemptyset(&set);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	syscall(SYS_exit, 0);
	return arg;
}

static void *sends(void *arg)
{
	union sigval value;

	while (sent < SENT) {
		value.sival_int = sent;
		if (sent - received < QUEUED && !sigqueue(getpid(), SIGRTMIN, value))
			sent++;
	}
	return arg;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	time_t limit = time(NULL) + WAIT_S;
	pthread_t sender, t;
	sigset_t set;

	sigfillset(&sa.sa_mask);
	sigaction(SIGRTMIN, &sa, NULL);
	sigfillset(&set);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	pthread_create(&sender, NULL, sends, NULL);
	while (received < SENT && time(NULL) <= limit) {
		pthread_create(&t, NULL, ends, NULL);
		pthread_join(t, NULL);
	}
	for (int i = 0; i < SENT; i++)
		if (times[i] != 1) {
			printf("signal %d of %d: %u times\n", i, sent, times[i]);
			return 1;
		}
	pthread_join(sender, NULL);
	printf("%d signals received\n", received);
	return 0;
}
