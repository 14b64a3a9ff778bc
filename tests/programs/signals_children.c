// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  What a child does to its handlers is not its parent's affair, even if
 * it shares the parent's memory.
 */
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#ifndef CLONE_CLEAR_SIGHAND
#define CLONE_CLEAR_SIGHAND 0x100000000ull
#endif

static volatile int seen;

static void handler(int sig)
{
	seen += sig;
}

static void check_handler(const char *after)
{
	seen = 0;
	raise(SIGUSR1);
	printf("after %s: %s\n", after, seen == SIGUSR1 ? "handled" : "not handled");
	fflush(stdout);
}

static void vforked(void)
{
	int status;
	pid_t pid = vfork();

	if (!pid) {
		signal(SIGUSR1, SIG_IGN);
		signal(SIGUSR2, SIG_DFL);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void cleared(void)
{
	struct clone_args c;
	int status;
	pid_t pid;

	memset(&c, 0, sizeof(c));
	c.flags = CLONE_CLEAR_SIGHAND;
	c.exit_signal = SIGCHLD;
	pid = syscall(SYS_clone3, &c, sizeof(c));
	if (!pid) {
		struct sigaction sa;

		CHECK(!sigaction(SIGUSR1, NULL, &sa) && sa.sa_handler == SIG_DFL);
		raise(SIGUSR1);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	printf("cleared: signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

int main(void)
{
	CHECK(signal(SIGUSR1, handler) != SIG_ERR);
	CHECK(signal(SIGUSR2, handler) != SIG_ERR);
	CHECK(!system("true"));
	check_handler("system");
	vforked();
	check_handler("vfork");
	cleared();
	check_handler("clone3");
	return 0;
}
