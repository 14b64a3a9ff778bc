// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  Seccomp's strict mode, in which a thread may read, write, exit and return from
 * signals.  Code that has never run before works there; any other call ends the thread by SIGKILL,
 * and other threads go on.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define SIZE (1 << 16)

static unsigned char bytes[SIZE];

static void say(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		syscall(SYS_exit, 1);
}

static void strict(void)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		abort();
}

__attribute__((noinline))
static unsigned int compute(void)
{
	unsigned int h = 0;

	for (unsigned int n = 0; n < 8; n++)
		for (unsigned int i = 0; i < SIZE; i++) {
			bytes[i] ^= (unsigned char)(i * 7919 >> n);
			h = h * 31 + bytes[i];
		}
	return h;
}

static volatile sig_atomic_t came;

static void interrupted(int sig)
{
	came = sig;
	say("interrupted\n");
}

static void allowed(void)
{
	char c;

	strict();
	say(compute() ? "computed\n" : "nothing\n");
	if (read(-1, &c, 1) != -1 || errno != EBADF)
		say("read does not fail\n");
	syscall(SYS_exit, 5);
}

static void forbidden(void)
{
	strict();
	say("before\n");
	getppid();
	say("after\n");
	syscall(SYS_exit, 6);
}

static void by_seccomp(void)
{
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) != -1 || errno != EINVAL)
		say("flags are accepted\n");
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL))
		abort();
	say("strict\n");
	syscall(SYS_exit_group, 7);
}

/* A timer that was set before: its handler returns by rt_sigreturn. */
static void signals(void)
{
	signal(SIGALRM, interrupted);
	ualarm(1000, 0);
	strict();
	while (!came)
		compute();
	syscall(SYS_exit, 8);
}

static void *one_thread(void *arg)
{
	strict();
	getppid();
	say("after\n");
	return arg;
}

static void threads(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, one_thread, NULL) || pthread_join(t, NULL))
		abort();
	say("the other thread goes on\n");
	_exit(9);
}

static void try(const char *name, void (*f)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		f();
		_exit(99);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	printf("%s: %s %d\n", name, WIFSIGNALED(status) ? "signal" : "status",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	fflush(stdout);
}

int main(void)
{
	try("allowed", allowed);
	try("forbidden", forbidden);
	try("by seccomp()", by_seccomp);
	try("signals", signals);
	try("threads", threads);
	return 0;
}
