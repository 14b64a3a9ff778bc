// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Detach, or pause: move all threads of a recorded process out of the engine.  A detach unmaps it.
 *
 *	caller				tracer
 *	fork ------------------------->	ask the process to leave; stop its threads, except those in
 *					calls that a stop would end
 *					until all others wait: let them go on, stop them again
 *					end the recording, move the threads that wait
 *	wait <-------------------------	result, in shared memory
 *	try again, for at most 5 s	move the others when their calls return; unmap the engine
 *
 * If the tracer dies, the process goes on in the engine, or, after the end of the recording, leaves
 * it, and the engine's memory stays mapped.
 */
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"
#include "libdep/inject/leaving.h"

#define TRY_NS		2000000000ull	/* for the threads to come to safe points */
#define TRY_THREAD_NS	1000000ull	/* more for each thread */
#define TRIES_NS	5000000000ull	/* for all tries */
#define PAUSE_NS	50000		/* first pause between two passes over the threads */
#define LONG_PAUSE_NS	3000000		/* next ones are longer, up to this */
#define PAUSE_THREAD_NS	10000		/* more for each thread that was asked */
#define RETRY_NS	3000000		/* pause between two tries */
#define BUSY_NS		2000000000ull	/* for all tries while another tracer traces it */
#define LATE_NS		10000000	/* maximum time between two looks at the threads in calls */

/** struct detach - in memory that the tracer and its caller share */
struct detach {
	const struct dep_target *target;
	u32 slot;
	pid_t pid;
	bool pause;		/* the engine stays in memory */
	bool slow;		/* threads run that have not come to where they can leave */
	int err;
	struct dep_why why;
	struct dep_detached out;
	/* of the tracer */
	struct dep_leaving leaving;
	struct scan *s;
	struct dep_leaver *leaver;	/* for each thread of @s, at the same index */
	u32 expected;			/* slot's leavers when all threads wait that were asked */
};

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

static void pause_ns(long ns)
{
	const struct timespec pause = { .tv_nsec = ns };

	nanosleep(&pause, NULL);
}

static void thread_gone(struct detach *d, u32 i)
{
	d->s->thread[i].tid = 0;
	d->s->thread[i].was_stopped = UNTRACED;
	d->leaver[i].ready = false;
}

/* ---- until all threads wait ---- */

/* Is the thread in a system call of the program that a stop would end, and outside the engine? */
static bool is_native(const struct detach *d, u32 i)
{
	const struct dep_attach_thread *t = &d->s->thread[i];

	return t->tid && t->was_stopped == WATCHED && t->kind == DEP_ATTACH_RETURNS &&
	       dep_leaving_outside(&d->leaving, t->pc);
}

/* Is the thread in a system call of the program that a stop would end? */
static bool is_late(const struct detach *d, u32 i)
{
	const struct dep_attach_thread *t = &d->s->thread[i];

	return is_native(d, i) ||
	       (t->tid && t->was_stopped == WATCHED && t->kind == DEP_ATTACH_RETURNS &&
		dep_leaving_in_call(&d->leaving, t->pc));
}

static void go_on(struct detach *d, u32 i, int sig)
{
	d->expected += !d->leaver[i].asked;
	d->leaver[i].asked = true;
	ptrace(PTRACE_CONT, d->s->thread[i].tid, NULL, (long)sig);
	d->s->thread[i].was_stopped = WATCHED;
	d->s->thread[i].kind = DEP_ATTACH_RUNNING;
}

/* Deal with a stopped thread.  Return: 0, or -EAGAIN: it cannot be detached from now. */
static int ask(struct detach *d, u32 i)
{
	struct dep_attach_thread *t = &d->s->thread[i];
	int sig = release_signal(t->status);
	struct user_regs_struct regs;
	enum damage damage;

	d->leaver[i].tid = t->tid;
	if (ptrace(PTRACE_GETREGS, t->tid, NULL, &regs)) {
		thread_gone(d, i);
		return 0;
	}
	damage = dep_leaving_waits(&d->leaving, regs.rip) ? DAMAGE_NONE :
		 release_damage(d->s, t->tid, sig, &regs);
	if (damage == DAMAGE_SHORT)
		return dep_inject_error(&d->why, EAGAIN, "Thread %d of process %d is transferring "
					"data; try again.", t->tid, d->pid);
	if (dep_leaving_ask(&d->leaving, &d->leaver[i], &regs, damage == DAMAGE_EINTR))
		thread_gone(d, i);
	else if (!d->leaver[i].ready && !d->leaver[i].native)
		go_on(d, i, sig);
	return 0;
}

/* Wait for the stop of a thread that was asked to.  It may be about to end. */
static void await_stop(struct detach *d, u32 i)
{
	struct dep_attach_thread *t = &d->s->thread[i], now;
	int status = 0;

	while (waitpid(t->tid, &status, __WALL) < 0 && errno == EINTR)
		if (scan_look(d->s, t->tid, &now))
			break;
	if (!WIFSTOPPED(status)) {
		thread_gone(d, i);
		return;
	}
	t->was_stopped = STOPPED;
	t->status = status;
}

/* Stop a thread that waits.  It may have begun to wait again. */
static void stop_waiting(struct detach *d, u32 i)
{
	ptrace(PTRACE_INTERRUPT, d->s->thread[i].tid, NULL, NULL);
	stop_ticks(true);
	await_stop(d, i);
	stop_ticks(false);
}

/* Stop all threads that wait: first ask all of them, so that they need not wait for each other. */
static void stop_those_that_wait(struct detach *d)
{
	struct dep_attach_thread *t;
	u32 i;

	for (i = 0; i < d->s->n; i++) {
		t = &d->s->thread[i];
		if (!t->tid || t->was_stopped != WATCHED ||
		    !dep_leaving_waits(&d->leaving, t->pc))
			continue;
		ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
		t->was_stopped = ASKED;
	}
	stop_ticks(true);
	for (i = 0; i < d->s->n; i++)
		if (d->s->thread[i].was_stopped == ASKED)
			await_stop(d, i);
	stop_ticks(false);
}

/* If a thread that has stopped were asked to stop, it would do so again when it is let go. */
static void take_stops(struct detach *d)
{
	struct dep_attach_thread *t;
	u32 at = 0;
	int status;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
		t = scan_find(d->s, tid, &at);
		if (t && WIFSTOPPED(status)) {
			t->was_stopped = STOPPED;
			t->status = status;
		} else if (t) {
			thread_gone(d, (u32)(t - d->s->thread));
		}
	}
}

/* See what the threads do that are not stopped: some wait by now, and others are in calls. */
static void look(struct detach *d)
{
	struct dep_attach_thread *t, now;
	u32 i;

	take_stops(d);
	for (i = 0; i < d->s->n; i++) {
		t = &d->s->thread[i];
		if (!t->tid || t->was_stopped != WATCHED)
			continue;
		if (d->leaver[i].asked && dep_leaving_has_come(&d->leaving, &d->leaver[i])) {
			t->kind = DEP_ATTACH_RUNNING;
			t->pc = dep_leaving_wait_pc(&d->leaving);
			continue;
		}
		if (scan_look(d->s, t->tid, &now))
			continue;	/* its end is reported by waitpid() */
		now.was_stopped = WATCHED;
		*t = now;
	}
}

/* One pass over the threads.  Return: 0; 1: all wait, or are in calls; or a negative errno. */
static int pass(struct detach *d, struct timespec *begun)
{
	struct timespec again;
	int err, all = 1;
	u32 i;

	look(d);
	stop_those_that_wait(d);
	err = stop_all(d->s, begun->tv_sec ? &again : begun, &d->why);
	if (err)
		return err;
	release_settle(d->s);
	/* After an execve, the threads that have stopped are those of the new program. */
	err = dep_leaving_check(&d->leaving, &d->why);
	for (i = 0; i < d->s->n && !err; i++) {
		struct dep_attach_thread *t = &d->s->thread[i];

		if (!t->tid || d->leaver[i].ready || d->leaver[i].native)
			continue;
		if (t->was_stopped == STOPPED)
			err = ask(d, i);
		all &= !t->tid || d->leaver[i].ready || is_late(d, i);
	}
	return err ? err : all;
}

static u32 first_ready(const struct detach *d)
{
	u32 i;

	for (i = 0; i < d->s->n && !d->leaver[i].ready; i++)
		;
	return i;
}

/*
 * Commit.  Return: 0; 1: try again later; or a negative errno.  If no thread waits, one must first
 * return from its call.
 */
static int commit(struct detach *d)
{
	u32 i = first_ready(d);
	int err;

	if (i == d->s->n)
		return 1;
	err = dep_leaving_commit(&d->leaving, &d->leaver[i]);
	return err == -EAGAIN ? 1 : err;
}

/* Number of threads that were asked and have not begun to wait; not exact. */
static s32 missing(const struct detach *d)
{
	return (s32)(d->expected - __atomic_load_n(&d->leaving.slot->leavers, __ATOMIC_SEQ_CST));
}

/* Wait until the threads that were asked have begun to wait, for some time. */
static void await_leavers(const struct detach *d)
{
	const struct timespec round = { .tv_nsec = LONG_PAUSE_NS };
	u64 until = now_ns() + LONG_PAUSE_NS + d->s->n * PAUSE_THREAD_NS;
	u32 *leavers = &d->leaving.slot->leavers, now;

	while (now_ns() < until) {
		now = __atomic_load_n(leavers, __ATOMIC_SEQ_CST);
		if (missing(d) <= 0)
			return;
		syscall(SYS_futex, leavers, FUTEX_WAIT, now, &round, NULL, 0);
	}
}

static int try_to_commit(struct detach *d, struct timespec *begun)
{
	u64 begin = now_ns();
	long pause = PAUSE_NS;
	int ret;

	do {
		ret = pass(d, begun);
		if (ret < 0)
			return ret;
		if (ret && !commit(d))
			return 0;
		if (missing(d) > 0)
			await_leavers(d);
		else
			pause_ns(pause);
		/* A thread that is stopped again before it gets a processor gets nowhere. */
		if (pause < LONG_PAUSE_NS)
			pause *= 2;
	} while (now_ns() - begin < TRY_NS + d->s->n * TRY_THREAD_NS);
	d->slow = !ret || first_ready(d) < d->s->n;
	if (d->slow)
		return dep_inject_error(&d->why, EAGAIN, "The threads of process %d do not come to "
					"points where they can leave the engine: they get no "
					"processor, or wait for the collector; try again.",
					d->pid);
	return dep_inject_error(&d->why, EAGAIN, "All threads of process %d wait in system calls "
				"that a stop would end; try again.", d->pid);
}

/* ---- after the commit ---- */

/* Number of threads in the engine. */
static u32 count_left(const struct detach *d)
{
	u32 i, n = 0;

	for (i = 0; i < d->s->n; i++)
		n += d->s->thread[i].tid && !d->leaver[i].native;
	return n;
}

/*
 * Let native threads go that are stopped, or that may have met an int3 before it was removed.  The
 * others remain traced until the tracer ends.
 */
static void release_native(struct detach *d)
{
	struct dep_attach_thread *t, now;
	u32 i;

	for (i = 0; i < d->s->n; i++) {
		t = &d->s->thread[i];
		if (is_native(d, i))
			d->leaver[i].native = true;
		if (!t->tid || !d->leaver[i].native)
			continue;
		if (t->was_stopped == WATCHED && !scan_look(d->s, t->tid, &now) &&
		    now.kind == DEP_ATTACH_RETURNS && now.pc == t->pc && now.sp == t->sp)
			continue;
		if (t->was_stopped == WATCHED)
			stop_waiting(d, i);
		if (t->tid)
			dep_leaving_release(&d->leaving, t->tid, release_signal(t->status));
		t->tid = 0;
	}
}

static void move(struct detach *d, u32 i, bool last)
{
	int ret = dep_leaving_move(&d->leaving, &d->leaver[i], last && !d->pause);

	d->out.mapped |= ret > 0;
	thread_gone(d, i);
}

/* All threads run natively. */
static void end(struct detach *d)
{
	d->out.mapped |= dep_leaving_unmap(&d->leaving);
	dep_leaving_end(&d->leaving, true);
	dep_leaving_free(&d->leaving);
}

static void move_ready(struct detach *d)
{
	u32 i, left = count_left(d);

	for (i = 0; i < d->s->n; i++)
		if (d->leaver[i].ready)
			move(d, i, left-- == 1);
	d->out.late = left;
}

/* A thread that is left has stopped or ended. */
static void handle_stop(struct detach *d, u32 i, int status)
{
	struct dep_attach_thread *t = &d->s->thread[i];
	int sig = WIFSTOPPED(status) ? release_signal(status) : 0;
	struct user_regs_struct regs;
	bool again;

	if (!WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, t->tid, NULL, &regs)) {
		thread_gone(d, i);
		return;
	}
	if (status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP) {
		ptrace(PTRACE_LISTEN, t->tid, NULL, NULL);
		return;
	}
	if (d->leaver[i].native) {
		dep_leaving_release(&d->leaving, t->tid, sig);
		thread_gone(d, i);
		return;
	}
	again = release_damage(d->s, t->tid, sig, &regs) == DAMAGE_EINTR;
	if (sig)
		dep_leaving_signal(&d->leaving, &d->leaver[i], &regs, again);
	else if (dep_leaving_waits(&d->leaving, regs.rip))
		dep_leaving_ask(&d->leaving, &d->leaver[i], &regs, false);
	if (d->leaver[i].ready)
		move(d, i, count_left(d) == 1);
	else
		ptrace(PTRACE_CONT, t->tid, NULL, (long)sig);
}

static void handle_stops(struct detach *d)
{
	u32 at = 0;
	int status;
	pid_t tid;

	while (count_left(d) && (tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
		struct dep_attach_thread *t = scan_find(d->s, tid, &at);

		if (t)
			handle_stop(d, (u32)(t - d->s->thread), status);
		else if (WIFSTOPPED(status))
			/* A native thread has executed a program, and has another number now. */
			ptrace(PTRACE_DETACH, tid, NULL, (long)release_signal(status));
	}
}

static void ask_those_that_wait(struct detach *d)
{
	struct dep_attach_thread now;
	u32 i;

	for (i = 0; i < d->s->n; i++) {
		if (!d->s->thread[i].tid || d->leaver[i].native)
			continue;
		d->leaver[i].tid = d->s->thread[i].tid;
		if (!scan_look(d->s, d->s->thread[i].tid, &now) &&
		    dep_leaving_waits(&d->leaving, now.pc))
			ptrace(PTRACE_INTERRUPT, d->s->thread[i].tid, NULL, NULL);
	}
}

static void child_stopped(int sig)
{
	(void)sig;
}

/* Move the threads that were in system calls when these return. */
static void finish(struct scan *s, void *arg)
{
	const struct timespec late = { .tv_nsec = LATE_NS };
	const struct sigaction sa = { .sa_handler = child_stopped };
	struct detach *d = arg;
	u32 leavers;

	sigaction(SIGCHLD, &sa, NULL);
	tracer_close_others(d->leaving.mem, s->proc);
	for (;;) {
		leavers = __atomic_load_n(&d->leaving.slot->leavers, __ATOMIC_SEQ_CST);
		handle_stops(d);
		if (!count_left(d))
			break;
		ask_those_that_wait(d);
		/* Returns early when a thread begins to wait, and after a stop. */
		syscall(SYS_futex, &d->leaving.slot->leavers, FUTEX_WAIT, leavers, &late, NULL, 0);
	}
	end(d);
}

/* ---- the tracer ---- */

static int begin(struct detach *d, struct scan *s)
{
	int err;

	s->pid = d->pid;
	s->proc = dep_proc_open_used(s->pid);
	if (s->proc < 0)
		return dep_inject_error(&d->why, ESRCH, "There is no process %d.", s->pid);
	s->thread = calloc(DEP_ATTACH_THREADS, sizeof(*s->thread));
	d->leaver = calloc(DEP_ATTACH_THREADS, sizeof(*d->leaver));
	if (!s->thread || !d->leaver)
		return dep_inject_error(&d->why, ENOMEM, "No memory.");
	/* What cannot be attached to cannot be resumed, either. */
	if (d->pause && (err = refuse_process(s->pid, s->proc, true, &d->why)))
		return err;
	err = dep_leaving_begin(&d->leaving, d->target, d->slot, d->pid, s->proc, d->pause,
				&d->why);
	if (!err)
		d->expected = __atomic_load_n(&d->leaving.slot->leavers, __ATOMIC_SEQ_CST);
	return err;
}

/* The process goes on in the engine. */
static void undo(struct detach *d)
{
	u32 i;

	dep_leaving_end(&d->leaving, false);
	for (i = 0; i < d->s->n; i++) {
		if (!d->leaver[i].ready)
			continue;
		ptrace(PTRACE_DETACH, d->s->thread[i].tid, NULL, NULL);
		thread_gone(d, i);
	}
	release_all(d->s);
	dep_leaving_free(&d->leaving);
}

static int detach(struct detach *d, struct scan *s)
{
	struct timespec begun = { 0 };
	int err;

	d->s = s;
	err = begin(d, s);
	if (err)
		return err;
	err = try_to_commit(d, &begun);
	if (err) {
		undo(d);
		return err;
	}
	release_native(d);
	d->out.threads = count_left(d);
	move_ready(d);
	d->out.stop_ns = now_ns() - ((u64)begun.tv_sec * 1000000000u + (u64)begun.tv_nsec);
	if (d->out.late) {
		s->finish = finish;
		s->finish_arg = d;
	} else {
		end(d);
	}
	return 0;
}

static void run_detach(void *arg, struct scan *s)
{
	struct detach *d = arg;

	d->err = detach(d, s);
}

static int try(struct detach *d, struct dep_why *why)
{
	int err;

	/* If somebody kills the tracer, the process goes on in the engine. */
	d->err = -EAGAIN;
	d->slow = false;
	snprintf(d->why.text, sizeof(d->why.text),
		 "The tracer that should detach from process %d was killed.", d->pid);
	err = tracer_run(run_detach, d, 0, why);
	if (err || !d->err)
		return err;
	/* The tracer was killed after the end of the recording: the threads leave by themselves. */
	if (dep_leaving_is_orphan(d->target, d->slot)) {
		d->out.mapped = true;
		return 0;
	}
	return dep_inject_error(why, -d->err, "%s", d->why.text);
}

static int leave(const struct dep_target *target, u32 slot, pid_t pid, bool pause,
		 struct dep_detached *out, struct dep_why *why)
{
	u64 begun = now_ns();
	struct detach *d;
	u64 limit;
	int err;

	if (pid <= 0 || pid == getpid())
		return dep_inject_error(why, EINVAL, "Invalid process number %d.", pid);
	d = tracer_memory(sizeof(*d), why);
	if (!d)
		return -ENOMEM;
	d->target = target;
	d->slot = slot;
	d->pid = pid;
	d->pause = pause;
	/*
	 * -EBUSY: it is about to execute a program, the tracer of an attach or a pause still
	 * finishes calls, or the threads have not noticed yet that an earlier tracer has died.
	 */
	for (;;) {
		err = try(d, why);
		limit = err == -EAGAIN ? TRIES_NS : err == -EBUSY ? BUSY_NS : 0;
		if (now_ns() - begun >= limit)
			break;
		pause_ns(RETRY_NS);
	}
	if (err == -EAGAIN && d->slow)
		err = -ETIMEDOUT;
	*out = d->out;
	munmap(d, sizeof(*d));
	return err;
}

int dep_pause(const struct dep_target *target, u32 slot, pid_t pid, struct dep_detached *out,
	      struct dep_why *why)
{
	return leave(target, slot, pid, true, out, why);
}

int dep_detach(const struct dep_target *target, u32 slot, pid_t pid, struct dep_detached *out,
	       struct dep_why *why)
{
	struct dep_attach_cost cost;
	int err = 0;

	/* Only the engine can take itself out of the process. */
	if (dep_is_paused(target, slot))
		err = dep_resume(target, slot, pid, &cost, why);
	return err ? err : leave(target, slot, pid, false, out, why);
}
