// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that a rule holds is let go by its user, and executes a set-uid program under the eyes
 * of depd, which is about to take it: judge_take ROUNDS HELD PRIVILEGED
 *
 * HELD is this program under a name that the rule wants.  As soon as it is held its user lets it
 * run for 0, 20, 40.. microseconds: in some rounds it is stopped at the first instruction of
 * PRIVILEGED when depd comes to take it.  The status is 7 if each of them ended as it does
 * natively.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int go_on(const char *file)
{
	char *argv[] = { (char *)(uintptr_t)file, (char *)"take", NULL };

	execv(file, argv);
	return 97;
}

static unsigned long long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ull + (unsigned long long)t.tv_nsec / 1000;
}

/* Is it stopped? */
static int is_held(pid_t pid)
{
	char path[64], text[512], *p;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	p = strrchr(text, ')');
	return p && !strncmp(p, ") T", 3);
}

/* It runs for @us, and is stopped then. */
static void pulse(pid_t pid, unsigned int us)
{
	unsigned long long until = now_us() + us;

	kill(pid, SIGCONT);
	while (now_us() < until)
		;
	kill(pid, SIGSTOP);
}

static int one_round(char **argv, int round)
{
	unsigned long long until;
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		char *args[] = { argv[2], (char *)"held", argv[3], NULL };

		execv(argv[2], args);
		_exit(96);
	}
	for (until = now_us() + 1000000; !is_held(pid) && now_us() < until;)
		;
	pulse(pid, (unsigned int)round * 20);
	nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	for (;;) {
		kill(pid, SIGCONT);
		if (waitpid(pid, &status, WNOHANG))
			break;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	int ret = 7, i, s;

	if (argc == 3)
		return go_on(argv[2]);
	if (argc < 4)
		return 98;
	for (i = 0; i < atoi(argv[1]); i++) {
		s = one_round(argv, i);
		if (s != 7)
			ret = s;
	}
	return ret;
}
