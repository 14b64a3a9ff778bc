// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sends signals to its own process group: kill_group handle|ignore|default N
 *
 * handle and ignore do so with all signals from 1 to N, and handle prints how often each
 * arrived.  Built by tests/first_signals.sh.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile sig_atomic_t arrived[65];

static void handler(int sig)
{
	arrived[sig]++;
}

static void all(int last, void (*how)(int))
{
	int sig;

	for (sig = 1; sig <= last; sig++) {
		if (sig == SIGKILL || sig == SIGSTOP || sig == 32 || sig == 33)
			continue;
		signal(sig, how);
		kill(0, sig);
		/* One that is sent back to the program comes a little later. */
		usleep(5000);
		printf("%d %d\n", sig, (int)arrived[sig]);
	}
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 0;

	printf("begin\n");
	fflush(stdout);
	if (!strcmp(argv[1], "handle"))
		all(n, handler);
	else if (!strcmp(argv[1], "ignore"))
		all(n, SIG_IGN);
	else
		kill(0, n);
	usleep(5000);
	printf("end\n");
	return 7;
}
