// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  SA_RESETHAND: it does not change the action "ignore"; it leaves the flags as they
 * are; and a handler that another thread sets while a signal is delivered stays.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS	20000

static volatile sig_atomic_t handled;
static pthread_barrier_t both;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static void set(int sig, void (*action)(int), int flags)
{
	struct sigaction sa = { .sa_handler = action, .sa_flags = SA_RESETHAND | flags };

	if (sigaction(sig, &sa, NULL))
		abort();
}

static int is(int sig, void (*action)(int))
{
	struct sigaction sa;

	return !sigaction(sig, NULL, &sa) && sa.sa_handler == action;
}

/* The engine gets SIGSEGV also if it is ignored, because it may be a fault. */
static void ignored(void)
{
	int i;

	set(SIGSEGV, SIG_IGN, 0);
	for (i = 0; i < 3; i++)
		kill(getpid(), SIGSEGV);
	printf("still ignored: %d\n", is(SIGSEGV, SIG_IGN));
}

static pid_t child(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return pid;
}

/* SA_NOCLDWAIT holds after the handler, too: nobody waits for a child. */
static void flags(void)
{
	set(SIGCHLD, handler, SA_NOCLDWAIT);
	child();
	while (!handled)
		usleep(1000);
	printf("default: %d\n", is(SIGCHLD, SIG_DFL));
	printf("a child that can be waited for: %d\n", waitpid(child(), NULL, 0) > 0);
}

static void *change(void *arg)
{
	int i, n;

	for (i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&both);
		for (n = 0; n < i % 40; n++)
			__builtin_ia32_pause();
		set(SIGURG, handler, 0);
		pthread_barrier_wait(&both);
	}
	return arg;
}

static void changed(void)
{
	int i, before, lost = 0;
	pthread_t changer;

	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&changer, NULL, change, NULL);
	for (i = 0; i < ROUNDS; i++) {
		set(SIGURG, handler, 0);
		pthread_barrier_wait(&both);
		raise(SIGURG);
		pthread_barrier_wait(&both);
		if (!is(SIGURG, handler))
			continue;
		before = handled;
		raise(SIGURG);
		lost += handled == before;
	}
	pthread_join(changer, NULL);
	printf("handlers that did not run: %d\n", lost);
}

int main(void)
{
	ignored();
	flags();
	changed();
	return 0;
}
