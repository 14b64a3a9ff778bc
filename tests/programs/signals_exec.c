// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  Synchronous signals that a process sent to itself while it blocked them stay
 * blocked and pending over execve.  The new image receives them when it unblocks them.
 */
#include <signal.h>
#include <unistd.h>

#include "common.h"

static const int signals[] = { SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGUSR1 };
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

static volatile sig_atomic_t got[SIGNALS];

static void handler(int sig, siginfo_t *si, void *arg)
{
	size_t i;

	(void)arg;
	CHECK(si->si_code == SI_USER && si->si_pid == getpid());
	for (i = 0; i < SIGNALS; i++)
		got[i] += signals[i] == sig;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	sigset_t set, pending;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < SIGNALS; i++)
		sigaddset(&set, signals[i]);
	if (argc == 1) {
		sigprocmask(SIG_BLOCK, &set, NULL);
		for (i = 0; i < SIGNALS; i++)
			kill(getpid(), signals[i]);
		/* An execve that fails changes neither. */
		CHECK(execl("/", argv[0], (char *)NULL) == -1);
		sigpending(&pending);
		for (i = 0; i < SIGNALS; i++)
			CHECK(sigismember(&pending, signals[i]) == 1);
		execl("/proc/self/exe", argv[0], "again", (char *)NULL);
		return 1;
	}
	sigpending(&pending);
	for (i = 0; i < SIGNALS; i++) {
		CHECK(sigismember(&pending, signals[i]) == 1);
		sigaction(signals[i], &sa, NULL);
	}
	for (i = 0; i < SIGNALS; i++)
		CHECK(!got[i]);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	for (i = 0; i < SIGNALS; i++)
		printf("signal %d came %d times\n", signals[i], (int)got[i]);
	return 0;
}
