// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Stop all threads of a process.
 *
 *	list of threads -> SEIZE all -> INTERRUPT those that may be stopped -> wait for these
 *	      ^                                                                     |
 *	      +--- until there is no new thread, and none that was not stopped has left its call
 *
 * A thread that is still running can create others, so the list is read again after each pass.
 *
 * If the tracer dies, the kernel lets all threads continue.  Nothing in them is changed until then.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "internal.h"

#define STOP_MS		100	/* time for all threads of a pass to stop */
#define TICK_MS		10	/* of stop_ticks() */
#define BLOCKED_MS	100	/* time for uninterruptible waits to end */
#define SEIZED		64	/* threads seized before the deadline is set anew */
#define PASSES		20	/* maximum; 3 or 4 suffice if threads create threads all the time */

static volatile sig_atomic_t expired, seizing;
static sigjmp_buf out_of_seize;

static void on_alarm(int sig)
{
	(void)sig;
	expired = 1;
}

static void on_alarm_in_seize(int sig)
{
	(void)sig;
	if (seizing)
		siglongjmp(out_of_seize, 1);
}

/*
 * Send SIGALRM, with the action @handler, to this process after @ms milliseconds and then every
 * 10 ms, since the first one may come just before a system call that waits.  @ms 0: stop that.
 */
static void deadline(unsigned int ms, void (*handler)(int))
{
	const struct itimerval t = {
		.it_value.tv_usec = ms * 1000u, .it_interval.tv_usec = ms ? 10000 : 0,
	};
	const struct sigaction sa = { .sa_handler = handler };

	expired = 0;
	/* Do not change the handler while a timer runs: its signal could meet the new one. */
	if (!ms)
		setitimer(ITIMER_REAL, &t, NULL);
	sigaction(SIGALRM, &sa, NULL);
	if (ms)
		setitimer(ITIMER_REAL, &t, NULL);
}

void stop_ticks(bool on)
{
	deadline(on ? TICK_MS : 0, on_alarm);
}

bool stop_is_allowed(const struct dep_attach_thread *t)
{
	return t->kind == DEP_ATTACH_RUNNING || t->kind == DEP_ATTACH_RESTARTS ||
	       t->kind == DEP_ATTACH_STOPPED;
}

/* Drop an ended thread: entries with tid 0 are ignored. */
static void forget(struct dep_attach_thread *t)
{
	t->was_stopped = UNTRACED;
	t->kind = DEP_ATTACH_BLOCKED;
	t->tid = 0;
}

/* Wait until no thread is in an uninterruptible wait, such as one for a vfork child. */
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
 * PTRACE_SEIZE waits while another thread of the process is in execve.  That execve waits until the
 * threads that it has killed are reaped, by this tracer if it traces them.  The kernel makes the
 * call again after a signal, so only a jump out of the signal's handler ends this deadlock.
 *
 * Return: 0, the errno of PTRACE_SEIZE, or ETIMEDOUT.  Then the thread may be traced.
 */
static int seize_in_time(pid_t tid)
{
	int err;

	if (sigsetjmp(out_of_seize, 1)) {
		seizing = 0;
		return ETIMEDOUT;
	}
	seizing = 1;
	err = ptrace(PTRACE_SEIZE, tid, NULL, PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD) ?
	      errno : 0;
	seizing = 0;
	return err;
}

/* Trace a thread. */
static int seize_one(struct scan *s, struct dep_attach_thread *t, struct dep_why *why)
{
	struct dep_attach_thread now;
	int err = seize_in_time(t->tid);

	if (!err) {
		t->was_stopped = WATCHED;
		return 0;
	}
	if (err == ETIMEDOUT)
		return dep_inject_error(why, EAGAIN, "Thread %d of process %d could not be traced "
					"within %d ms; try again.", t->tid, s->pid, STOP_MS);
	/* For a thread that is ending it is EPERM. */
	if (err != ESRCH && !scan_look(s, t->tid, &now))
		return refuse_seize(s, t->tid, err, why);
	forget(t);
	return 0;
}

/* Trace the threads that may be stopped (@which), or those that may not be (!@which). */
static int seize(struct scan *s, bool which, struct dep_why *why)
{
	struct dep_attach_thread *t;
	u32 i, n = 0;
	int err = 0;

	for (i = 0; i < s->n && !err; i++) {
		t = &s->thread[i];
		if (!t->tid || t->was_stopped != UNTRACED || stop_is_allowed(t) != which)
			continue;
		if (n++ % SEIZED == 0)
			deadline(STOP_MS, on_alarm_in_seize);
		err = seize_one(s, t, why);
	}
	deadline(0, SIG_DFL);
	return err;
}

/*
 * Trace all threads, first those in calls that a stop would end.
 *
 * The kernel queues even ignored signals for a traced thread, and may then wake any thread of the
 * process to receive one, which ends that thread's call.  If the woken thread is traced, it stops,
 * and the call can be made again.
 */
static int seize_all(struct scan *s, struct dep_why *why)
{
	int err = seize(s, false, why);

	return err ? err : seize(s, true, why);
}

/* Ask all threads that may be stopped to stop.  Return: the number of threads asked. */
static u32 interrupt(struct scan *s)
{
	struct dep_attach_thread *t;
	u32 i, n = 0;

	for (i = 0; i < s->n; i++) {
		t = &s->thread[i];
		if (t->was_stopped != WATCHED || !stop_is_allowed(t))
			continue;
		ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
		t->was_stopped = ASKED;
		n++;
	}
	return n;
}

static void stopped(struct dep_attach_thread *t, int status)
{
	if (!WIFSTOPPED(status)) {
		forget(t);
		return;
	}
	t->was_stopped = STOPPED;
	t->status = status;
}

static bool is_exec(int status)
{
	return WIFSTOPPED(status) && status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8);
}

static int executes(const struct scan *s, struct dep_why *why)
{
	return dep_inject_error(why, EAGAIN, "Process %d executes another program; try again.",
				s->pid);
}

/*
 * Wait until a thread that was asked to stop has stopped or ended.  @n such threads are left.
 *
 * It is waited for by its number: to find any one that has stopped, the kernel looks at all.
 */
static int await(struct scan *s, struct dep_attach_thread *t, u32 n, struct dep_why *why)
{
	int status;

	while (waitpid(t->tid, &status, __WALL) < 0) {
		if (errno == EINTR && expired)
			return dep_inject_error(why, EAGAIN, "%u thread%s of process %d did not "
						"stop within %d ms; try again.", n,
						n == 1 ? "" : "s", s->pid, STOP_MS);
		if (errno == EINTR)
			continue;
		/* It has executed another program, and has another number now. */
		forget(t);
		return 0;
	}
	stopped(t, status);
	return is_exec(status) ? executes(s, why) : 0;
}

/* Threads that were not asked stop to receive a signal. */
static int take_others(struct scan *s, struct dep_why *why)
{
	struct dep_attach_thread *t;
	u32 at = 0;
	int status;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
		t = scan_find(s, tid, &at);
		if (t)
			stopped(t, status);
		if (is_exec(status))
			return executes(s, why);
	}
	return 0;
}

int stop_await(struct scan *s, u32 n, struct dep_why *why)
{
	int err = 0;
	u32 i;

	deadline(STOP_MS, on_alarm);
	for (i = 0; i < s->n && n && !err; i++) {
		if (s->thread[i].was_stopped != ASKED)
			continue;
		err = await(s, &s->thread[i], n, why);
		n--;
	}
	deadline(0, SIG_DFL);
	return err ? err : take_others(s, why);
}

/* Return: number of threads that were not stopped and have left their calls: pass again. */
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

	if (err)
		return err;
	err = seize_all(s, why);
	if (err)
		return err;
	if (!begun->tv_sec)
		clock_gettime(CLOCK_MONOTONIC, begun);
	return stop_await(s, interrupt(s), why);
}

int stop_one(struct scan *s, struct dep_attach_thread *t, struct dep_why *why)
{
	int err;

	deadline(STOP_MS, on_alarm_in_seize);
	err = seize_one(s, t, why);
	deadline(0, SIG_DFL);
	if (err)
		return err;
	if (t->was_stopped == WATCHED) {
		ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
		t->was_stopped = ASKED;
		deadline(STOP_MS, on_alarm);
		err = await(s, t, 1, why);
		deadline(0, SIG_DFL);
	}
	if (!err && t->was_stopped != STOPPED)
		err = dep_inject_error(why, EAGAIN, "A thread of process %d has ended; try again.",
				       s->pid);
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
