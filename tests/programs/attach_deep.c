// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads that are deep in calls when they are attached to. Behind the attach they return from all
 * of these, and make the same calls again.
 *
 * Suite: attach-contexts
 *
 * Writes "ready" when all threads are in their calls, and "again" after the next byte on its
 * standard input. Goes on after another byte, and ends.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noipa))

#define DEPTH	30
#define TIMES	5

static atomic_int inside, stop;
static volatile long sink;

NOINLINE void after(int n)
{
	sink += n;
}

/* Waits in the first call only. */
NOINLINE void bottom(void)
{
	if (!stop)
		inside++;
	while (!stop)
		after(0);
}

NOINLINE int down(int n)
{
	int ret = 0;

	if (n)
		ret = down(n - 1);
	else
		bottom();
	after(n);
	return ret + 1;
}

/* Has a frame pointer, and memory of a size that is not known. */
NOINLINE int with_frame(int n)
{
	char memory[8 * n];

	memset(memory, n, sizeof(memory));
	sink += memory[n];
	n = down(DEPTH);
	after(n);
	return n + memory[0];
}

static void *run_framed(void *arg)
{
	int i;

	for (i = 0; i < TIMES; i++)
		sink += with_frame(9);
	return arg;
}

static void *run_plain(void *arg)
{
	int i;

	for (i = 0; i < TIMES; i++)
		sink += down(DEPTH);
	return arg;
}

/* Behind it there is no unwind table: only a search finds its callers. */
void hidden(void (*function)(void));

__asm__(
"	.text\n"
"	.type hidden, @function\n"
"hidden:\n"
"	sub $8, %rsp\n"
"	call *%rdi\n"
"	add $8, %rsp\n"
"	ret\n"
"	.size hidden, . - hidden\n");

NOINLINE void hidden_caller(void)
{
	hidden(bottom);
	after(1);
}

static void *run_hidden(void *arg)
{
	int i;

	for (i = 0; i < TIMES; i++) {
		hidden_caller();
		after(2);
	}
	return arg;
}

static void wait_for_byte(void)
{
	char byte;

	while (read(0, &byte, 1) < 0)
		;
}

static void say(const char *what)
{
	puts(what);
	fflush(stdout);
}

int main(void)
{
	void *(*const run[])(void *) = { run_framed, run_plain, run_hidden };
	pthread_t t[3];
	int i;

	for (i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, run[i], NULL);
	while (inside < 3)
		usleep(1000);
	say("ready");
	wait_for_byte();
	say("again");
	wait_for_byte();
	stop = 1;
	for (i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
