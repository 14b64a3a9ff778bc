// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Put the engine into a running process: start it there, stop the process's threads, move them into
 * it, and let them go.  In a process that was paused it is there already, and is started again.
 *
 *	caller				tracer
 *	fork ------------------------->	stop one thread, create one of its own, let the first go
 *					start the engine by that thread
 *					stop threads, except those in calls that a stop would end
 *					all can be taken: move them
 *					otherwise: let them go, remove the engine
 *	wait <-------------------------	result, in shared memory
 *	try again, for at most 2 s
 *
 * Threads in calls that a stop would end enter the engine later, by its signal handler (late.c).
 *
 * The caller does not kill the tracer: if the process is frozen in the middle of the injection,
 * the tracer must be there when it runs again.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "internal.h"
#include "libdep/inject/running.h"

#define TRY_NS		2000000000ull	/* for all tries */
#define PAUSE_NS	3000000		/* pause between two tries */

/** struct result - written by the tracer, read by the caller when it has done its work */
struct result {
	const struct dep_target *target;
	pid_t pid;
	int err;
	struct dep_why why;
	struct dep_injected injected;
	u64 stop_ns, guest_ns;
	u32 n;
	long last_created;	/* for refuse_sharing() */
	bool stop_first;	/* start the engine when all threads are stopped */
	bool paused;		/* the engine is there: resume */
	u32 slot;		/* with @paused: process slot */
	/* of the tracer */
	struct dep_attaching attaching;
	struct adept_boot boot;
};

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

static int not_now(const struct scan *s, const struct dep_attach_thread *t, const char *what,
		   struct dep_why *why)
{
	return dep_inject_error(why, EAGAIN, "Thread %d of process %d %s; try again.", t->tid,
				s->pid, what);
}

/* Can this stopped thread be taken now? */
static int examine_stopped(const struct scan *s, const struct dep_attach_thread *t,
			   struct dep_running *r, struct dep_why *why)
{
	*r = (struct dep_running){ .tid = t->tid, .call = t->call, .returned = -1 };
	r->sig = release_signal(t->status);
	if (release_state(s, r))
		return not_now(s, t, "is transferring data", why);
	return 0;
}

/* Can this thread be taken, now or when its call returns? */
static int examine(const struct scan *s, const struct dep_attach_thread *t, struct dep_running *r,
		   struct dep_why *why)
{
	if (t->was_stopped == STOPPED)
		return examine_stopped(s, t, r, why);
	if (t->was_stopped != WATCHED || t->kind != DEP_ATTACH_RETURNS)
		return not_now(s, t, "did not stop", why);
	if (late_blocks_trap(s, t->tid))
		return dep_inject_error(why, ENOTSUP, "Thread %d of process %d blocks SIGTRAP, by "
					"which it would be caught after its system call.", t->tid,
					s->pid);
	if (call_hides_mask(t->call, t->args))
		return not_now(s, t, "waits with a signal mask for the time of its system call, "
			       "after which it may block SIGTRAP", why);
	*r = (struct dep_running){ .tid = t->tid, .call = t->call, .returned = -1, .late = true,
				   .pc = t->pc, .sp = t->sp };
	return 0;
}

static int examine_all(const struct scan *s, struct result *r, struct dep_running *thread)
{
	int err = 0;
	u32 i;

	r->n = 0;
	for (i = 0; i < s->n && !err; i++)
		if (s->thread[i].tid)
			err = examine(s, &s->thread[i], &thread[r->n++], &r->why);
	if (!err && !r->n)
		err = dep_inject_error(&r->why, ESRCH, "Process %d has ended.", s->pid);
	if (!err && late_ignores_trap(s, thread[0].tid))
		err = dep_inject_error(&r->why, ENOTSUP, "Process %d ignores SIGTRAP, which an "
				       "attach needs.", s->pid);
	return err;
}

/* ---- the engine's start, by a thread of the tracer in the process ---- */

/*
 * The thread to be stopped that creates the tracer's thread, which takes less than a millisecond.
 *
 * One that sleeps stops at once, while one that runs waits for a processor.  After a second stop
 * the number of a call that the kernel restarts by another is not known any more: such a thread
 * comes last.
 */
static struct dep_attach_thread *choose_guest(const struct scan *s)
{
	struct dep_attach_thread *t, *runs = NULL, *last = NULL;

	for (t = s->thread; t < s->thread + s->n; t++) {
		if (!t->tid || !stop_is_allowed(t))
			continue;
		if (t->call < 0)
			runs = t;
		else if (call_restarts_by_another(t->call, t->args))
			last = t;
		else
			return t;
	}
	return runs ? runs : last;
}

/* Create the tracer's thread. */
static int enter(struct result *r, struct scan *s, const struct dep_running *guest)
{
	return dep_running_enter(&r->attaching, guest, &s->ours, &r->why);
}

static int stop_guest(struct result *r, struct scan *s, struct dep_attach_thread *t)
{
	u64 begun = now_ns();
	struct dep_running guest;
	int err;

	err = stop_one(s, t, &r->why);
	if (!err)
		err = handler_begin_all(s, &r->why);
	if (!err)
		err = examine(s, t, &guest, &r->why);
	if (!err && guest.sig)
		err = not_now(s, t, "is about to receive a signal", &r->why);
	if (!err)
		err = enter(r, s, &guest);
	release_one(s, t);
	r->guest_ns = now_ns() - begun;
	return err;
}

/*
 * Start the engine while the process runs.  If all threads are in calls that a stop would end, or
 * the process cannot open the session file by its name, this is done later: start_stopped().
 */
static int start_running(struct result *r, struct scan *s)
{
	struct dep_attach_thread *guest = r->stop_first ? NULL : choose_guest(s);
	u32 n = s->n;
	int err;

	if (!guest)
		return 0;
	err = stop_guest(r, s, guest);
	if (err)
		return err;
	/* What the threads do now has to be seen again. */
	s->n = 0;
	err = dep_running_build(&r->attaching, false, n, &r->why);
	r->stop_first = err == -EXDEV;
	if (r->stop_first)
		return -EAGAIN;
	return err ? err : refuse_sharing(s->pid, s->proc, &r->last_created, &r->why);
}

/* Start the engine while all threads are stopped or in calls. */
static int start_stopped(struct result *r, struct scan *s)
{
	struct dep_attaching *a = &r->attaching;
	u32 i = 0;
	int err;

	/* A signal would be lost when the thread makes system calls. */
	while (i < a->n && (a->thread[i].late || a->thread[i].sig))
		i++;
	if (i == a->n)
		return dep_inject_error(&r->why, EAGAIN, "All threads of process %d that have "
					"stopped are about to receive signals; try again.", s->pid);
	err = enter(r, s, &a->thread[i]);
	return err ? err : dep_running_build(a, true, a->n, &r->why);
}

/* ---- the attach ---- */

/* Late threads are still traced, until the tracer ends. */
static void forget_moved(struct scan *s)
{
	u32 i;

	for (i = 0; i < s->n; i++)
		if (s->thread[i].was_stopped == STOPPED)
			s->thread[i].was_stopped = UNTRACED;
}

static int catch_late(struct result *r, struct scan *s)
{
	struct dep_attaching *a = &r->attaching;
	int err = dep_running_catch(a, &r->why);

	if (!err && !late_still_wait(s))
		err = dep_inject_error(&r->why, EAGAIN, "Threads of process %d return from system "
				       "calls faster than they can be caught; try again.", s->pid);
	if (!err && !late_first(s, a))
		err = dep_inject_error(&r->why, EAGAIN, "All threads of process %d wait in system "
				       "calls that a stop would end; try again when one has "
				       "returned.", s->pid);
	return err;
}

/* With all threads stopped or in calls.  On failure the caller lets the threads go. */
static int inject(struct result *r, struct scan *s, struct dep_running *thread)
{
	struct dep_attaching *a = &r->attaching;
	int err;

	err = examine_all(s, r, thread);
	if (!err)
		err = refuse_sharing(s->pid, s->proc, &r->last_created, &r->why);
	if (!err)
		err = dep_running_check(a, thread, r->n, &r->why);
	if (err)
		return err;
	r->err = -ECHILD;
	err = catch_late(r, s);
	if (!err && !s->ours)
		err = start_stopped(r, s);
	if (!err)
		err = dep_running_commit(a, &r->injected, &r->why);
	if (err) {
		dep_running_release(a);
		late_undo(s, a);
	} else {
		forget_moved(s);
	}
	return err;
}

static int stop_and_inject(struct result *r, struct scan *s)
{
	struct dep_running *thread = calloc(DEP_ATTACH_THREADS, sizeof(*thread));
	struct timespec begun;
	int err;

	if (!thread)
		return dep_inject_error(&r->why, ENOMEM, "No memory.");
	err = stop_all(s, &begun, &r->why);
	release_settle(s);
	if (!err)
		err = handler_begin_all(s, &r->why);
	if (!err)
		err = inject(r, s, thread);
	if (err) {
		release_all(s);
		free(thread);
	}
	if (begun.tv_sec)
		r->stop_ns = r->guest_ns + now_ns() -
			     ((u64)begun.tv_sec * 1000000000u + (u64)begun.tv_nsec);
	return err;
}

static int begin(struct result *r, struct scan *s)
{
	int err;

	s->pid = r->pid;
	s->proc = dep_proc_open_used(s->pid);
	if (s->proc < 0)
		return dep_inject_error(&r->why, ESRCH, "There is no process %d.", s->pid);
	s->thread = calloc(DEP_ATTACH_THREADS, sizeof(*s->thread));
	if (!s->thread)
		return dep_inject_error(&r->why, ENOMEM, "No memory.");
	err = refuse_process(s->pid, s->proc, r->paused, &r->why);
	if (!err)
		err = scan_threads(s, &r->why);
	if (err < 0)
		return err;
	if (!s->n)
		return dep_inject_error(&r->why, ESRCH, "Process %d has ended.", s->pid);
	if (r->paused)
		err = dep_running_begin_paused(&r->attaching, r->target, r->slot, s->pid, s->proc,
					       s->thread[0].tid, &r->boot, &r->why);
	else
		err = dep_running_begin(&r->attaching, r->target, s->pid, s->proc,
					s->thread[0].tid, &r->boot, &r->why);
	return err == -EPERM ? refuse_seize(s, s->thread[0].tid, EPERM, &r->why) : err;
}

static int take(struct result *r, struct scan *s)
{
	int err;

	r->guest_ns = 0;
	r->last_created = 0;
	r->attaching = (struct dep_attaching){ .mem = -1 };
	err = begin(r, s);
	if (!err)
		err = start_running(r, s);
	if (!err)
		err = stop_and_inject(r, s);
	dep_running_end(&r->attaching);
	return err;
}

static void run_take(void *arg, struct scan *s)
{
	struct result *r = arg;

	r->err = take(r, s);
}

static int try(struct result *r, struct dep_why *why)
{
	int err;

	/* It has a result unless somebody kills it. */
	r->err = -EAGAIN;
	snprintf(r->why.text, sizeof(r->why.text),
		 "The tracer that should attach to process %d was killed; try again.", r->pid);
	err = tracer_run(run_take, r, 0, why);
	return err || !r->err ? err : dep_inject_error(why, -r->err, "%s", r->why.text);
}

/* Try for 2 seconds. */
static int try_for_long(struct result *r, struct dep_why *why)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	u64 begun = now_ns();
	unsigned int tries;
	int err = 0;

	/* The tracer of an earlier try, or of the pause, can still be finishing a call: -EBUSY. */
	for (tries = 0; now_ns() - begun < TRY_NS; tries++) {
		err = try(r, why);
		if (err != -EAGAIN && (err != -EBUSY || (!tries && !r->paused)))
			break;
		nanosleep(&pause, NULL);
	}
	return err;
}

int dep_attach_running(const struct dep_target *target, pid_t pid, struct dep_injected *out,
		       struct dep_attach_cost *cost, struct dep_why *why)
{
	struct result *r;
	int err;

	memset(out, 0, sizeof(*out));
	if (pid <= 0 || pid == getpid())
		return dep_inject_error(why, EINVAL, "Invalid process number %d.", pid);
	r = tracer_memory(sizeof(*r), why);
	if (!r)
		return -ENOMEM;
	r->target = target;
	r->pid = pid;
	err = try_for_long(r, why);
	*out = r->injected;
	*cost = (struct dep_attach_cost){ .stop_ns = r->stop_ns, .threads = r->n };
	munmap(r, sizeof(*r));
	return err;
}

int dep_resume(const struct dep_target *target, u32 slot, pid_t pid, struct dep_attach_cost *cost,
	       struct dep_why *why)
{
	struct result *r;
	int err;

	if (pid <= 0 || pid == getpid())
		return dep_inject_error(why, EINVAL, "Invalid process number %d.", pid);
	r = tracer_memory(sizeof(*r), why);
	if (!r)
		return -ENOMEM;
	*r = (struct result){ .target = target, .pid = pid, .paused = true, .slot = slot };
	err = try_for_long(r, why);
	*cost = (struct dep_attach_cost){ .stop_ns = r->stop_ns, .threads = r->n };
	munmap(r, sizeof(*r));
	return err;
}
