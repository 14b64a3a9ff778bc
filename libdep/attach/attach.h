/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Into a running process: what its threads do, whether it can be attached to, and how long it would
 * stand still.
 *
 * A thread in a system call must not be stopped if that would change what the call returns: some
 * calls return EINTR after a stop by ptrace, and some a short count.  Such a thread is left alone;
 * it will be caught when its call returns by itself.
 */
#ifndef ADEPT_ATTACH_ATTACH_H
#define ADEPT_ATTACH_ATTACH_H

#include "libdep/inject/inject.h"

#define DEP_ATTACH_THREADS	65536u	/* at most */

/** enum dep_attach_kind - how a thread can be taken */
enum dep_attach_kind {
	DEP_ATTACH_RUNNING,	/* executes code: is stopped */
	DEP_ATTACH_RESTARTS,	/* in a call that a stop does not change: stopped */
	DEP_ATTACH_RETURNS,	/* in a call that a stop would end: caught when it returns */
	DEP_ATTACH_STOPPED,	/* stopped by job control already, and stays so */
	DEP_ATTACH_VFORKS,	/* waits for a child that runs in its memory */
	DEP_ATTACH_BLOCKED,	/* in a wait that nothing interrupts */
	DEP_ATTACH_KINDS
};

/**
 * struct dep_attach_thread - a thread
 * @call:	number of the system call that it is in, or -1
 * @args:	the call's arguments
 * @sp, @pc:	of a thread in a system call
 * @was_stopped: the probe has stopped it
 * @status:	of that stop, as waitpid(2) has it
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
 * struct dep_attach_probe - a process, and what it was like to stop it
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
 * This forks a tracer, which is killed after 2 seconds; then all threads run on.  A tracer that has
 * to finish calls of the program goes on after the return.  The caller needs the rights that
 * ptrace(2) asks for.
 *
 * Return: 0 or a negative errno, with the reason in @why: the process cannot be attached to, now or
 * ever.  -EAGAIN: later it may.
 */
int dep_attach_probe(struct dep_attach_probe *p, pid_t pid, struct dep_why *why);
void dep_attach_probe_free(struct dep_attach_probe *p);

/**
 * struct dep_attach_cost - what an attach has cost the process
 * @stop_ns:	from the first request to stop until the last thread was let go
 * @threads:	how many were taken
 */
struct dep_attach_cost {
	u64 stop_ns;
	u32 threads;
};

/**
 * dep_attach_running() - put the engine into a running process
 *
 * Threads in system calls that a stop would end cannot be taken: the attach is tried again for 2
 * seconds.  The caller needs the rights that ptrace(2) asks for; the process must have the
 * privileges of @target.
 *
 * Return: 0 or a negative errno, with the reason in @why; then the process runs natively.
 * -EAGAIN: later it may succeed.
 */
int dep_attach_running(const struct dep_target *target, pid_t pid, struct dep_injected *out,
		       struct dep_attach_cost *cost, struct dep_why *why);

#endif
