// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Do ptrace work in a process of its own, the tracer: ptrace binds traced threads to their tracer,
 * and its end releases them.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"

void *tracer_memory(size_t size, struct dep_why *why)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p != MAP_FAILED)
		return p;
	dep_inject_error(why, errno, "No memory: %m.");
	return NULL;
}

void tracer_close_others(int one, int two)
{
	unsigned int low = (unsigned int)(one < two ? one : two);
	unsigned int high = (unsigned int)(one < two ? two : one);

	if (low > 3)
		close_range(3, low - 1, 0);
	if (high > low + 1)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, ~0u, 0);
}

/*
 * While threads are stopped: those that were let go must not delay the tracer, and its pauses must
 * not be longer than they are meant to be.  The priority takes a privilege.
 */
static void hurry(bool on)
{
	static int nice;

	if (on)
		nice = getpriority(PRIO_PROCESS, 0);
	setpriority(PRIO_PROCESS, 0, on ? -20 : nice);
	prctl(PR_SET_TIMERSLACK, on ? 1000ul : 0ul);
}

__attribute__((noreturn))
static void run(tracer_fn *f, void *arg, pid_t caller, unsigned int kill_ms, int ready)
{
	struct scan s = { .proc = -1 };
	sigset_t none;

	/* The tracer may outlive the caller: do not hold the caller's output open. */
	for (int fd = 0, null = open("/dev/null", O_RDWR); fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	/* Unblock the signals that the caller blocks. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* If it were ignored, the ends of threads would not be reported. */
	signal(SIGCHLD, SIG_DFL);
	if (kill_ms)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	else
		setsid();
	if (getppid() != caller)
		_exit(1);
	hurry(true);
	f(arg, &s);
	hurry(false);
	if (s.finish || release_is_long(&s)) {
		/* The caller does not wait for the rest: do not die with it. */
		prctl(PR_SET_PDEATHSIG, 0);
		setsid();
		if (write(ready, "", 1) != 1)
			_exit(1);
	}
	if (s.finish)
		s.finish(&s, s.finish_arg);
	else
		release_finish(&s);
	_exit(0);
}

/* Wait until the tracer has ended, or has written a byte to say that its results are complete. */
static void await(pid_t tracer, int ready, unsigned int kill_ms)
{
	struct pollfd p = { .fd = ready, .events = POLLIN };
	bool goes_on;
	char byte;
	int n;

	do
		n = poll(&p, 1, kill_ms ? (int)kill_ms : -1);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		kill(tracer, SIGKILL);
	/* Do not wait for a tracer that still has calls to finish: it may become a zombie. */
	goes_on = n > 0 && read(ready, &byte, 1) == 1;
	while (!goes_on && waitpid(tracer, NULL, 0) < 0 && errno == EINTR)
		;
}

int tracer_run(tracer_fn *f, void *arg, unsigned int kill_ms, struct dep_why *why)
{
	pid_t caller = getpid(), tracer;
	int ready[2], err = 0;

	if (pipe2(ready, O_CLOEXEC))
		return dep_inject_error(why, errno, "No tracer can be made: %m.");
	tracer = fork();
	if (!tracer)
		run(f, arg, caller, kill_ms, ready[1]);
	close(ready[1]);
	if (tracer < 0)
		err = dep_inject_error(why, errno, "No tracer can be made: %m.");
	else
		await(tracer, ready[0], kill_ms);
	close(ready[0]);
	return err;
}
