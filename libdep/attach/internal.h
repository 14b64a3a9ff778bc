/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the files of attach/. */
#ifndef ADEPT_ATTACH_INTERNAL_H
#define ADEPT_ATTACH_INTERNAL_H

#include <sys/user.h>
#include <time.h>

#include "attach.h"
#include "libdep/inject/running.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/**
 * struct dep_attach_thread.was_stopped, in the tracer:
 *
 *	UNTRACED -> WATCHED -> ASKED -> STOPPED
 *	               |                   ^
 *	               +--- by a signal ---+
 */
enum { UNTRACED, WATCHED, ASKED, STOPPED };

/* ---- calls.c ---- */

struct scan;

/**
 * call_restarts() - does a stop leave this blocked call as it is?
 *
 * Return: true if the kernel is known to restart it with its time-out unchanged, or if it has none
 * and can be made again.
 */
bool call_restarts(const struct scan *s, pid_t tid, s64 nr, const u64 args[6]);
/**
 * call_restarts_by_another() - does the kernel restart this call by the call restart_syscall?
 *
 * A system call filter that does not know restart_syscall ends the process for it, or makes it
 * fail.
 */
bool call_restarts_by_another(s64 nr, const u64 args[6]);
/**
 * call_hides_mask() - has the thread another signal mask during this call than after it?
 *
 * That one is not known while the thread is in the call.  Only for calls that a stop would end.
 */
bool call_hides_mask(s64 nr, const u64 args[6]);
/**
 * call_may_repeat() - may a call be made again that a stop has ended with EINTR?
 *
 * Not all may: close() has closed the descriptor by then, and connect() has begun to connect.
 */
bool call_may_repeat(s64 nr);
/** call_is_vfork() - does this call, in an uninterruptible wait, wait for a vfork child? */
bool call_is_vfork(s64 nr, const u64 args[6]);

/* ---- scan.c ---- */

/**
 * struct scan - the threads of a process
 * @thread:	an array of DEP_ATTACH_THREADS, of which @n are used
 * @proc:	dep_proc_open() of the process
 * @ours:	a thread of the tracer in the process, which is not listed; 0: none
 * @finish:	what the tracer does with the threads that it still traces, which may take any
 *		time; NULL: release_finish()
 */
struct scan {
	pid_t pid, ours;
	int proc;
	struct dep_attach_thread *thread;
	u32 n;
	void (*finish)(struct scan *s, void *arg);
	void *finish_arg;
};

/**
 * scan_threads() - add the threads that are not in @s yet
 *
 * Return: how many there were, or a negative errno.
 */
int scan_threads(struct scan *s, struct dep_why *why);
/**
 * scan_find() - find a thread
 * @at: where to begin; receives the place behind it.  The kernel lists threads, and reports their
 *	stops, mostly in the same order.
 */
struct dep_attach_thread *scan_find(const struct scan *s, pid_t tid, u32 *at);
/**
 * scan_look() - look at a thread once more
 * @now: receives what it does; its name and was_stopped are not set
 *
 * Return: 0; -ESRCH: it has ended.
 */
int scan_look(const struct scan *s, pid_t tid, struct dep_attach_thread *now);

/** struct signal_sets - signals of a thread, and of its process (@shared, @ignored, @caught) */
struct signal_sets {
	u64 pending, shared, blocked, ignored, caught;
};

/** scan_signals() - read a thread's sets of signals.  Return: false if it has ended */
bool scan_signals(const struct scan *s, pid_t tid, struct signal_sets *sets);

/** scan_has_filter() - does a seccomp filter, or the strict mode, apply to the thread? */
bool scan_has_filter(int proc, pid_t tid);

/* ---- tracer.c ---- */

/** tracer_fn - what a tracer does; @s is empty, and is finished afterwards */
typedef void tracer_fn(void *arg, struct scan *s);

/** tracer_memory() - memory that a tracer shares with its caller, zeroed; NULL on failure */
void *tracer_memory(size_t size, struct dep_why *why);
/**
 * tracer_run() - call @f in a new process
 * @kill_ms: kill that process if @f does not return in time, or if the caller ends; 0: do neither
 *
 * Does not wait for the end of @s->finish, or of release_finish() if that takes long.
 *
 * Return: 0 if the process was made.
 */
int tracer_run(tracer_fn *f, void *arg, unsigned int kill_ms, struct dep_why *why);

/**
 * tracer_close_others() - close all descriptors but standard ones and two
 *
 * The session's files must not stay open for as long as a system call takes.
 */
void tracer_close_others(int one, int two);

/* ---- handler.c ---- */

/**
 * handler_begin_all() - let stopped threads begin the signal handlers that they are about to run
 *
 * Afterwards they are stopped at the first instructions of the handlers, or where they were if the
 * signal is ignored, and no thread is about to receive the signal of a fault.
 *
 * Return: 0; -EAGAIN: a thread cannot begin its handler now, or did not stop again in time.
 */
int handler_begin_all(struct scan *s, struct dep_why *why);

/* ---- late.c ---- */

/*
 * For an int3 the kernel resets the action of SIGTRAP if the thread blocks the signal, or the
 * process ignores it.
 */
bool late_blocks_trap(const struct scan *s, pid_t tid);
bool late_ignores_trap(const struct scan *s, pid_t tid);
/** late_still_wait() - are all threads that were not stopped still in the calls they were in? */
bool late_still_wait(const struct scan *s);
/**
 * late_first() - if no thread was stopped: wait until the first one returns from its call
 *
 * Its state is put into @a.  False if that does not come in time.
 */
bool late_first(struct scan *s, struct dep_attaching *a);
/** late_undo() - with the int3 instructions gone: let threads go on that have met them */
void late_undo(struct scan *s, const struct dep_attaching *a);

/* ---- capabilities.c ---- */

/** capability_to_trace() - has the caller CAP_SYS_PTRACE? */
bool capability_to_trace(void);
/** capabilities_missing() - those of the mask @of that the caller has not */
u64 capabilities_missing(u64 of);
/** capabilities_name() - write their names to @text, as many as fit in @size bytes, at least 64 */
void capabilities_name(u64 set, char *text, size_t size);

/* ---- refuse.c ---- */

/**
 * refuse_process() - 0, or the reason why this process cannot be attached to
 * @recorded: it is being recorded, and that is no reason
 */
int refuse_process(pid_t pid, int proc, bool recorded, struct dep_why *why);
/**
 * refuse_sharing() - 0, or an error if another process runs in the process's memory
 * @last: 0 at first; nothing is read again if no process and no thread was created since
 *
 * Call it before and while the process's threads are stopped: they could create such a process.
 */
int refuse_sharing(pid_t pid, int proc, long *last, struct dep_why *why);
/** refuse_seize() - why PTRACE_SEIZE of a thread failed with @err, and what to do about it */
int refuse_seize(const struct scan *s, pid_t tid, int err, struct dep_why *why);

/* ---- stop.c ---- */

/**
 * stop_all() - stop all threads that may be stopped
 * @begun: receives when the first one was asked to stop
 *
 * The process must not have other tracers, and the caller no other children.
 */
int stop_all(struct scan *s, struct timespec *begun, struct dep_why *why);
/**
 * stop_one() - stop one thread that may be stopped
 *
 * Return: 0; -EAGAIN: it has not stopped in time, or has ended.
 */
int stop_one(struct scan *s, struct dep_attach_thread *t, struct dep_why *why);
/**
 * stop_ticks() - interrupt calls of waitpid() every 10 ms with EINTR
 *
 * It does not report that the first thread of a process has ended, while others run: the caller
 * looks for this.
 */
void stop_ticks(bool on);
/**
 * stop_await() - wait until @n threads that were asked to stop have stopped or ended
 *
 * Return: 0; -EAGAIN: not all have in time, or the process executes a program.
 */
int stop_await(struct scan *s, u32 n, struct dep_why *why);
/** stop_is_allowed() - may the thread be stopped? */
bool stop_is_allowed(const struct dep_attach_thread *t);

/* ---- release.c ---- */

/** enum damage - what a stop has done to a system call */
enum damage {
	DAMAGE_NONE,	/* nothing, or what the kernel undoes when the thread goes on */
	DAMAGE_EINTR,	/* ended it with EINTR: the thread can make the call again */
	DAMAGE_SHORT,	/* ended it with a part of its data transferred */
};

/**
 * release_damage() - has the stop ended the thread's system call?
 * @sig: the signal that the thread is about to receive; 0: none
 * @regs: its registers
 */
enum damage release_damage(const struct scan *s, pid_t tid, int sig,
			   const struct user_regs_struct *regs);
/** release_call_again() - set registers after a system call to those before it */
void release_call_again(struct user_regs_struct *regs);
/**
 * release_state() - read the registers with which a stopped thread is to continue
 *
 * They are as if there had been no stop: a system call that the stop has ended is made again.
 *
 * Return: 0; -EAGAIN: the stop has ended a system call that had transferred a part of its data;
 * -ESRCH: the thread has ended.
 */
int release_state(const struct scan *s, struct dep_running *r);
/** release_signal() - the signal that a thread stopped with @status is about to receive, or 0 */
int release_signal(int status);

/**
 * release_settle() - wait until a thread that an ignored signal has woken has stopped
 *
 * As long as all others are stopped it is the only one that can receive the signal.
 */
void release_settle(struct scan *s);
/**
 * release_all() - let stopped threads go on as if they had not been stopped
 *
 * The other traced threads are released by the tracer's end, after release_finish().
 */
void release_all(struct scan *s);
/** release_one() - the same for a single thread, which is not traced afterwards */
void release_one(const struct scan *s, struct dep_attach_thread *t);
/** release_is_long() - must the tracer stay, for calls cut short or for threads yet to stop? */
bool release_is_long(const struct scan *s);
/**
 * release_finish() - finish calls that the stop has cut short, and others that a signal has ended
 *
 * This takes as long as the former do.  Threads that did not stop in time are awaited for 10 s.
 */
void release_finish(struct scan *s);

#endif
