// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output
 *
 * Signals that arrive at calls of clone and fork: threads begin with the mask of their creator, and
 * a child does not handle its parent's signals.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 1500

static pid_t parent;
static atomic_int blocked, in_child;

static void handler(int sig)
{
	(void)sig;
	if (getpid() != parent)
		in_child++;
}

static void *thread(void *arg)
{
	sigset_t set;

	pthread_sigmask(SIG_SETMASK, NULL, &set);
	for (int sig = 1; sig < NSIG; sig++)
		if (sigismember(&set, sig) == 1) {
			blocked++;
			break;
		}
	return arg;
}

int main(void)
{
	const struct itimerval often = { { 0, 100 }, { 0, 100 } }, never = { { 0, 0 }, { 0, 0 } };
	const struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	int status, wrong = 0;
	pthread_t t;
	pid_t pid;

	parent = getpid();
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		if (pthread_create(&t, NULL, thread, NULL) || pthread_join(t, NULL))
			wrong++;
		if (i % 8)
			continue;
		pid = fork();
		if (!pid)
			_exit(in_child);
		if (waitpid(pid, &status, 0) != pid || status)
			wrong++;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%d threads with blocked signals, %d children with signals or errors\n", blocked,
	       wrong);
	return 0;
}
