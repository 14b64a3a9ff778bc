// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: kills.  A program that says what it did, by write(2): steps FILE THREADS STEPS.
 *
 * Each thread does STEPS steps.  A step is some work, a write to a byte of its own in marks[],
 * and a line in FILE.  A recording has the step if it has the write: the byte's address tells
 * which step of which thread it was.  In the middle another image is executed by a child.
 *
 *	marks ROW ADDRESS	at the beginning of each image; ROW is its first thread
 *	step ROW N		done, and in marks[] before
 *	end ROW			of a thread
 *	child STATUS		of the child, as wait() gives it
 *	over			the last line
 *
 * The exit status is 42, and "over" is printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define ROWS	64
#define STEPS	256
#define WORK	2000

static volatile unsigned char marks[ROWS][STEPS];
static unsigned int steps;
static int out;

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *fmt, ...)
{
	char line[64];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	CHECK(write(out, line, n) == n);
}

static __attribute__((noinline)) uint64_t work(uint64_t x)
{
	uint64_t table[61] = { x };
	unsigned int i;

	for (i = 0; i < WORK; i++) {
		table[x % 61] += x;
		x = table[x * 7 % 61] * 0x9e3779b97f4a7c15 + 1;
	}
	return x;
}

static void *run(void *arg)
{
	unsigned int row = (unsigned int)(uintptr_t)arg, n;
	uint64_t x = row;

	for (n = 0; n < steps; n++) {
		x = work(x);
		marks[row][n] = (unsigned char)(x | 1);
		say("step %u %u\n", row, n);
	}
	say("end %u\n", row);
	return NULL;
}

/* An image of its own, with one thread. */
static void run_child(char **argv, unsigned int row)
{
	char number[16], *args[] = { argv[0], argv[1], (char *)"child", argv[3], number, NULL };
	int status = 0;
	pid_t pid;

	snprintf(number, sizeof(number), "%u", row);
	pid = fork();
	if (!pid) {
		execv("/proc/self/exe", args);
		_exit(3);
	}
	CHECK(pid > 0);
	while (waitpid(pid, &status, 0) < 0)
		CHECK(errno == EINTR);
	say("child %d\n", status);
}

int main(int argc, char **argv)
{
	unsigned int threads, i, child, row = 1;
	pthread_t t[ROWS];

	/* Where the test programs are run for themselves. */
	if (argc < 4)
		return puts("nothing to do") < 0;
	child = !strcmp(argv[2], "child");
	threads = child ? 0 : (unsigned int)atoi(argv[2]);
	steps = (unsigned int)atoi(argv[3]);
	if (child)
		row = (unsigned int)atoi(argv[4]);
	out = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	CHECK(out >= 0 && threads < ROWS - 1 && steps <= STEPS && row < ROWS);
	say("marks %u %p\n", child ? row : 0, (void *)marks);
	if (child) {
		run((void *)(uintptr_t)row);
		return 0;
	}
	/* Two at a time: some begin and end while others are in the middle. */
	for (i = 1; i <= threads + 1; i++) {
		if (i <= threads)
			CHECK(!pthread_create(&t[i], NULL, run, (void *)(uintptr_t)i));
		if (i == threads / 2)
			run_child(argv, threads + 1);
		if (i > 1)
			CHECK(!pthread_join(t[i - 1], NULL));
	}
	run((void *)0);
	say("over\n");
	puts("over");
	return 42;
}
