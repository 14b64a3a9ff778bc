// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Stop all threads of a process.
 *
 *	list of threads -> SEIZE all -> INTERRUPT those that may be stopped -> wait for these
 *	      ^                                                                     |
 *	      +------- until there is no new thread, and none that was left alone has woken
 *
 * A thread that is still running can create others, so the list is read again after each pass.
 *
 * If the tracer dies, the kernel lets all threads go on: nothing of theirs was changed then.
 */
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "internal.h"

#define STOP_MS		100	/* for all of a pass to stop */
#define BLOCKED_MS	100	/* for uninterruptible waits to end */
#define PASSES		20	/* threads that others create all the time are caught in 3 or 4 */

static volatile sig_atomic_t expired;

static void on_alarm(int sig)
{
	(void)sig;
	expired = 1;
}

/*
 * Call @handler after @ms, and again, as it may come just before a call that waits.  0: not any
 * more.
 */
static void deadline(unsigned int ms, void (*handler)(int))
{
	const struct itimerval t = {
		.it_value.tv_usec = ms * 1000u, .it_interval.tv_usec = ms ? 10000 : 0,
	};
	const struct sigaction sa = { .sa_handler = handler };

	expired = 0;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
}

static bool may_stop(const struct dep_attach_thread *t)
{
	return t->kind == DEP_ATTACH_RUNNING || t->kind == DEP_ATTACH_RESTARTS ||
	       t->kind == DEP_ATTACH_STOPPED;
}

/* An ended thread is none any more. */
static void forget(struct dep_attach_thread *t)
{
	t->was_stopped = UNTRACED;
	t->kind = DEP_ATTACH_BLOCKED;
	t->tid = 0;
}

/* Wait for the end of uninterruptible waits, for a vfork child among others. */
static int wait_unblocked(struct scan *s, struct dep_why *why)
{
	static const char vforks[] = "waits for a child that runs in its memory (vfork)";
	static const char blocked[] = "is in a wait that nothing interrupts";
	const struct timespec ms = { .tv_nsec = 1000000 };
	struct dep_attach_thread *t, now;
	unsigned int tries = BLOCKED_MS;
	const char *what;
	u32 i;

	for (i = 0; i < s->n; i++) {
		t = &s->thread[i];
		while (t->tid && (t->kind == DEP_ATTACH_VFORKS || t->kind == DEP_ATTACH_BLOCKED)) {
			what = t->kind == DEP_ATTACH_VFORKS ? vforks : blocked;
			if (!tries--)
				return dep_inject_error(why, EAGAIN,
							"Thread %d of process %d %s; try again.",
							t->tid, s->pid, what);
			nanosleep(&ms, NULL);
			if (scan_look(s, t->tid, &now)) {
				forget(t);
				break;
			}
			now.was_stopped = t->was_stopped;
			*t = now;
		}
	}
	return 0;
}

/*
 * Trace the threads that may be stopped, or the others.
 *
 * PTRACE_SEIZE waits while another thread of the process is in execve, which in turn waits until
 * the threads that it has killed are reaped, by their tracer if they are traced.  Nothing but its
 * end takes the tracer out of that.
 */
static int seize(struct scan *s, bool which, struct dep_why *why)
{
	struct dep_attach_thread *t;
	u32 i;

	for (i = 0; i < s->n; i++) {
		t = &s->thread[i];
		if (!t->tid || t->was_stopped != UNTRACED || may_stop(t) != which)
			continue;
		if (!ptrace(PTRACE_SEIZE, t->tid, NULL,
			    PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD))
			t->was_stopped = WATCHED;
		else if (errno == ESRCH)
			forget(t);
		else
			return refuse_seize(s, t->tid, errno, why);
	}
	return 0;
}

/*
 * Trace all threads.  The kernel queues even ignored signals for a traced thread, and any thread
 * of the process may then be woken to receive them.  If that one is traced, too, it stops, and the
 * call that has ended can be made again.  So those in such calls come first.
 */
static int seize_all(struct scan *s, struct dep_why *why)
{
	int err = seize(s, false, why);

	return err ? err : seize(s, true, why);
}

/* Ask all threads that may be stopped to stop; return how many these are. */
static u32 interrupt(struct scan *s)
{
	struct dep_attach_thread *t;
	u32 i, n = 0;

	for (i = 0; i < s->n; i++) {
		t = &s->thread[i];
		if (t->was_stopped != WATCHED || !may_stop(t))
			continue;
		ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
		t->was_stopped = ASKED;
		n++;
	}
	return n;
}

/* Wait until @n threads that were asked to stop have, or have ended. */
static int wait_stopped(struct scan *s, u32 n, struct dep_why *why)
{
	struct dep_attach_thread *t;
	u32 at = 0;
	int status;
	pid_t tid;

	while (n) {
		tid = waitpid(-1, &status, __WALL);
		if (tid < 0 && errno == EINTR && !expired)
			continue;
		if (tid < 0)
			return dep_inject_error(why, EAGAIN,
						"%u thread%s of process %d did not stop within "
						"%d ms; try again.", n, n == 1 ? "" : "s", s->pid,
						STOP_MS);
		t = scan_find(s, tid, &at);
		if (!t)
			continue;
		/* Others stop to receive a signal. */
		n -= t->was_stopped == ASKED;
		if (!WIFSTOPPED(status)) {
			forget(t);
			continue;
		}
		t->was_stopped = STOPPED;
		t->status = status;
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
			return dep_inject_error(why, EAGAIN, "Process %d executes another program; "
						"try again.", s->pid);
	}
	return 0;
}

/* Those in a call that a stop would end: they can be left alone only as long as they are in it. */
static u32 wake_left(struct scan *s)
{
	struct dep_attach_thread *t, now;
	u32 i, woken = 0;

	for (i = 0; i < s->n; i++) {
		t = &s->thread[i];
		if (t->was_stopped != WATCHED || t->kind != DEP_ATTACH_RETURNS)
			continue;
		if (scan_look(s, t->tid, &now)) {
			forget(t);
		} else if (now.kind != DEP_ATTACH_RETURNS || now.sp != t->sp || now.pc != t->pc) {
			now.was_stopped = WATCHED;
			*t = now;
			woken++;
		}
	}
	return woken;
}

static int pass(struct scan *s, struct timespec *begun, struct dep_why *why)
{
	int err = wait_unblocked(s, why);
	u32 n;

	if (err)
		return err;
	deadline(STOP_MS, SIG_DFL);
	err = seize_all(s, why);
	deadline(0, SIG_DFL);
	if (err)
		return err;
	if (!begun->tv_sec)
		clock_gettime(CLOCK_MONOTONIC, begun);
	n = interrupt(s);
	deadline(STOP_MS, on_alarm);
	err = wait_stopped(s, n, why);
	deadline(0, SIG_DFL);
	return err;
}

int stop_all(struct scan *s, struct timespec *begun, struct dep_why *why)
{
	int found = scan_threads(s, why), err = found < 0 ? found : 0;
	unsigned int passes = 0;

	begun->tv_sec = 0;
	while (!err) {
		err = pass(s, begun, why);
		if (err)
			break;
		found = scan_threads(s, why);
		if (found < 0)
			return found;
		if (!found && !wake_left(s))
			return 0;
		if (++passes == PASSES)
			err = dep_inject_error(why, EAGAIN,
					       "Process %d creates threads faster than they can be "
					       "stopped; try again.", s->pid);
	}
	return err;
}
