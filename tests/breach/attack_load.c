// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The processor time that an attack took, without the attack.
 *
 *	attack_load sample FILE		appends how many threads of the machine are running or want
 *					to, ten times a second, until it is killed
 *	attack_load replay FILE LESS	runs as many busy loops, LESS fewer, as FILE has it
 *
 * An attacker comes in bursts, so loops that run all the time are no comparison.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOPS_MAX 512

static const struct timespec tenth = { 0, 100000000 };

static int running(void)
{
	FILE *f = fopen("/proc/loadavg", "r");
	int n = 0;

	if (!f || fscanf(f, "%*s %*s %*s %d", &n) != 1)
		exit(1);
	fclose(f);
	return n - 1;	/* this one */
}

static int sample(const char *name)
{
	FILE *f = fopen(name, "a");

	if (!f)
		return 1;
	for (;;) {
		fprintf(f, "%d\n", running());
		fflush(f);
		nanosleep(&tenth, NULL);
	}
}

static pid_t start_loop(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		;
}

static int replay(const char *name, int less)
{
	FILE *f = fopen(name, "r");
	pid_t loops[LOOPS_MAX];
	int made = 0, on = 0, n;

	if (!f)
		return 1;
	while (fscanf(f, "%d", &n) == 1) {
		n = n < less ? 0 : n - less;
		if (n > LOOPS_MAX)
			n = LOOPS_MAX;
		for (; on < n && on < made; on++)
			kill(loops[on], SIGCONT);
		for (; on < n; made++, on++) {
			loops[made] = start_loop();
			if (loops[made] < 0)
				return 1;
		}
		while (on > n)
			kill(loops[--on], SIGSTOP);
		nanosleep(&tenth, NULL);
	}
	while (made)
		kill(loops[--made], SIGKILL);
	while (wait(NULL) > 0)
		;
	fclose(f);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "sample"))
		return sample(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "replay"))
		return replay(argv[2], atoi(argv[3]));
	return 2;
}
