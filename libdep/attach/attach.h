/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Attach to a running process: find out what its threads do, whether they can be taken over, and
 * how long they would be stopped.  Detach from a recorded process.
 *
 * A thread in a system call must not be stopped if that would change what the call returns: some
 * calls return EINTR after a stop by ptrace, and some a short count.  Such a thread is not stopped;
 * it is caught when its call returns by itself.
 */
#ifndef ADEPT_ATTACH_ATTACH_H
#define ADEPT_ATTACH_ATTACH_H

#include "libdep/inject/inject.h"

#define DEP_ATTACH_THREADS	65536u	/* maximum number of threads of the process */

/** enum dep_attach_kind - how a thread can be taken over, that is, moved into the engine */
enum dep_attach_kind {
	DEP_ATTACH_RUNNING,	/* executes code: it is stopped */
	DEP_ATTACH_RESTARTS,	/* in a system call that a stop does not change: it is stopped */
	DEP_ATTACH_RETURNS,	/* in a system call that a stop would end: caught when it returns */
	DEP_ATTACH_STOPPED,	/* already stopped by job control, and stays stopped */
	DEP_ATTACH_VFORKS,	/* waits for a vfork child, which runs in its memory */
	DEP_ATTACH_BLOCKED,	/* in an uninterruptible wait */
	DEP_ATTACH_KINDS
};

/**
 * struct dep_attach_thread - a thread
 * @call:	number of the system call that it is in, or -1
 * @args:	the call's arguments
 * @sp, @pc:	stack pointer and program counter, if it is in a system call
 * @was_stopped: private to the tracer: UNTRACED to STOPPED
 * @status:	wait status of its stop, as from waitpid(2)
 */
struct dep_attach_thread {
	pid_t tid;
	enum dep_attach_kind kind;
	s64 call;
	u64 args[6], sp, pc;
	char name[16];
	u32 was_stopped;
	int status;
};

/**
 * struct dep_attach_probe - the threads of a process, and how long it took to stop them
 * @thread, @n:	its threads; free with dep_attach_probe_free()
 * @stop_ns:	from the first request to stop until the last thread was let go
 * @nstopped:	threads that were stopped
 */
struct dep_attach_probe {
	struct dep_attach_thread *thread;
	u32 n, nstopped;
	u64 stop_ns;
};

/**
 * dep_attach_probe() - stop a process's threads as an attach would, and let them go at once
 *
 * A forked tracer does this.  It is killed if it takes longer than 2 seconds: then all threads
 * continue.  If it must finish system calls that a stop has cut short, it runs on after this
 * function has returned.  The caller needs the rights that ptrace(2) requires.
 *
 * Return: 0, or a negative errno if the process cannot be attached to, with the reason in @why.
 * -EAGAIN: a later attempt may succeed.
 */
int dep_attach_probe(struct dep_attach_probe *p, pid_t pid, struct dep_why *why);
void dep_attach_probe_free(struct dep_attach_probe *p);

/**
 * struct dep_attach_cost - cost of an attach for the process
 * @stop_ns:	from the first request to stop until the last thread was let go, and before that the
 *		stop of the one thread that creates the tracer's thread
 * @threads:	number of threads taken over, including those that are caught later
 */
struct dep_attach_cost {
	u64 stop_ns;
	u32 threads;
};

/**
 * dep_attach_running() - put the engine into a running process
 *
 * Threads in system calls that a stop would end are caught when these calls return, which may be
 * after this function has returned.  If the threads cannot be taken over now, the attach is tried
 * again for 2 seconds.  The caller needs the rights that ptrace(2) requires; the process must have
 * exactly the user and group ids and capabilities of @target's base.
 *
 * Return: 0 or a negative errno, with the reason in @why; then the process runs natively.
 * -EAGAIN: a later attempt may succeed.
 */
int dep_attach_running(const struct dep_target *target, pid_t pid, struct dep_injected *out,
		       struct dep_attach_cost *cost, struct dep_why *why);

/**
 * struct dep_detached - result of a detach
 * @stop_ns:	from the first request to stop until the last thread was let go that was not in a
 *		system call
 * @threads:	number of threads of the process
 * @late:	how many of them are in system calls that a stop would end, and leave the engine
 *		when these return
 * @mapped:	the engine's memory could not be unmapped, for example since the tracer was killed:
 *		then the process uses its slot until it ends
 */
struct dep_detached {
	u64 stop_ns;
	u32 threads, late;
	bool mapped;
};

/**
 * dep_pause() - dep_detach(), but leave the engine in the process's memory for dep_resume()
 *
 * With @out->late, the slot's leave becomes ADEPT_LEAVE_PAUSED when all threads have left.
 * Children and programs that the process starts in a pause are not recorded.
 */
int dep_pause(const struct dep_target *target, u32 slot, pid_t pid, struct dep_detached *out,
	      struct dep_why *why);
/**
 * dep_resume() - record a paused process again
 *
 * As dep_attach_running(), but what the engine has translated is still there.
 *
 * Return: 0; -EBUSY: it is not paused, or not all of its threads have left the engine yet.
 */
int dep_resume(const struct dep_target *target, u32 slot, pid_t pid, struct dep_attach_cost *cost,
	       struct dep_why *why);

/**
 * dep_detach() - end the recording of a process, and let it run natively
 * @target:	its session; @target->session must be mapped up to the end of the process slots
 * @slot:	its process slot
 *
 * If it cannot be detached from now, this is tried again for 5 seconds.  If @out->late is not 0, a
 * tracer goes on after this function has returned; the slot's leave becomes ADEPT_LEAVE_LEFT when
 * it has ended.  The caller needs the rights that ptrace(2) requires.
 *
 * Return: 0 or a negative errno, with the reason in @why; then the process goes on in the engine.
 * -ESRCH: it has ended; -ESTALE: it has executed another program, and has another slot now;
 * -ETIMEDOUT: threads run, but got no processor in time, or wait for the collector; -EAGAIN: there
 * is another reason that can pass.
 */
int dep_detach(const struct dep_target *target, u32 slot, pid_t pid, struct dep_detached *out,
	       struct dep_why *why);

#endif
