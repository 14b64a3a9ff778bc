// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  A timer's signals race with system calls, with another signal's handler
 * and with its return: no signal, system call or unblocking may get lost.
 */
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

#define ROUNDS	20000

static volatile sig_atomic_t users, alarms;

static void on_user(int sig)
{
	(void)sig;
	users++;
}

static void on_alarm(int sig)
{
	(void)sig;
	alarms++;
}

static void handle(int sig, void (*handler)(int))
{
	struct sigaction sa = { .sa_handler = handler };

	CHECK(!sigaction(sig, &sa, NULL));
}

int main(void)
{
	struct itimerval timer = { 0 };
	struct timespec pause = { 0, 10000 };
	sigset_t blocked;
	int i, patience;

	handle(SIGUSR1, on_user);
	handle(SIGALRM, on_alarm);
	for (i = 1; i <= ROUNDS; i++) {
		timer.it_value.tv_usec = 1 + i * 7919 % 23;
		CHECK(!setitimer(ITIMER_REAL, &timer, NULL));
		CHECK(!kill(getpid(), SIGUSR1));
		CHECK(users == i);
		for (patience = 200000; alarms < i && patience; patience--)
			CHECK(!nanosleep(&pause, NULL) || errno == EINTR);
		CHECK(alarms == i);
	}
	CHECK(!sigprocmask(SIG_BLOCK, NULL, &blocked));
	mix(sigismember(&blocked, SIGUSR1) * 2 + sigismember(&blocked, SIGALRM));
	mix(users);
	mix(alarms);
	return finish("signals_race");
}
