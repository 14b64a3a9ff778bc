// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: attach.  Waits for a byte of standard input or its end, and then makes the same memory
 * references each time: calls by pointer, returns into functions that were called before, strings,
 * a child of fork, vectors, a signal's handler.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 200

static unsigned long sum;

static void handler(int sig)
{
	sum += (unsigned long)sig;
}

static __attribute__((noinline)) unsigned long fold(const unsigned char *p, size_t n)
{
	unsigned long h = 5381;

	while (n--)
		h = h * 33 + *p++;
	return h;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

static __attribute__((noinline)) void work(int depth)
{
	char text[256];
	int v[N], i;

	for (i = 0; i < N; i++)
		v[i] = (i * 7919) % 1009;
	qsort(v, N, sizeof(v[0]), compare);
	memset(text, 'a' + depth, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	sum += fold((unsigned char *)v, sizeof(v)) + strlen(text);
	raise(SIGUSR1);
	if (depth)
		work(depth - 1);
}

/* The frames of these calls are older than the attach. */
static __attribute__((noinline)) void wait_below(int depth)
{
	char c;

	if (depth)
		wait_below(depth - 1);
	else if (read(STDIN_FILENO, &c, 1) < 0)
		exit(1);
	sum += (unsigned long)depth;
}

int main(int argc, char **argv)
{
	char line[32];
	int status;
	pid_t pid;

	signal(SIGUSR1, handler);
	wait_below(10);
	work(3);
	/* With an argument: the same again, after another byte. */
	if (argc > 1 && *argv[1]) {
		if (write(STDOUT_FILENO, "half\n", 5) < 0)
			return 1;
		wait_below(10);
		work(3);
	}
	pid = fork();
	if (!pid) {
		work(1);
		_exit((int)(sum & 15));
	}
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	sum += (unsigned long)status;
	snprintf(line, sizeof(line), "%lx\n", sum);
	return write(STDOUT_FILENO, line, strlen(line)) < 0;
}
