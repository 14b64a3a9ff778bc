// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: signal-events.  A thread is sent signals while another one sets their action to "ignore"
 * and back: a signal can arrive when it has a handler, and be ignored when it is delivered.
 *
 * Output: "done"; with an argument: how often the handler ran.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#define SIGNALS	20000

static volatile sig_atomic_t handled, over;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static void *change(void *arg)
{
	struct sigaction sa = { .sa_handler = handler };

	while (!over) {
		sa.sa_handler = sa.sa_handler == handler ? SIG_IGN : handler;
		sigaction(SIGUSR1, &sa, NULL);
	}
	return arg;
}

static void *work(void *arg)
{
	volatile unsigned long n = 0;

	while (!over)
		n++;
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t worker, changer;
	int i;

	signal(SIGUSR1, handler);
	pthread_create(&worker, NULL, work, NULL);
	pthread_create(&changer, NULL, change, NULL);
	for (i = 0; i < SIGNALS; i++)
		pthread_kill(worker, SIGUSR1);
	over = 1;
	pthread_join(worker, NULL);
	pthread_join(changer, NULL);
	(void)argv;
	if (argc > 1)
		printf("%d\n", (int)handled);
	else
		puts("done");
	return 0;
}
