/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Puts the engine into a process that runs already, or starts it again after a pause.
 *
 *	begin -> enter -> build -> (the caller stops all threads) -> check -> catch -> commit -> end
 *
 * A thread of the injector starts the engine while the process's own threads run.  Then the caller
 * stops these, except those in system calls that must not be interrupted, which it also traces.
 * They enter the engine by an int3 when their calls return: dep_running_catch().
 *
 * Each function returns 0 or a negative errno, with the reason in @why.
 */
#ifndef ADEPT_INJECT_RUNNING_H
#define ADEPT_INJECT_RUNNING_H

#include <sys/user.h>

#include "inject.h"

/**
 * struct dep_running - a thread of a running process, traced by the caller
 * @sig:	signal that it is about to receive; 0: none
 * @late:	it is in a system call, and @regs and @sig are not set
 * @pc, @sp:	with @late: where it continues after the call, and its stack pointer
 * @call:	with @late: the system call
 * @returned:	the system call from which it has returned; -1: none
 * @regs:	with which it is to go on.  orig_rax is the number of an interrupted system call
 *		that is to be restarted, or -1.
 */
struct dep_running {
	pid_t tid;
	int sig;
	bool late;
	u64 pc, sp;
	s64 call, returned;
	struct user_regs_struct regs;
};

struct dep_started;

/** struct dep_attaching - private: an injection, until all threads are in the engine */
struct dep_attaching {
	const struct dep_target *t;
	struct dep_running *thread;
	u32 n;
	pid_t pid;
	int proc, mem;
	bool paused;
	u32 slot;		/* with @paused: its process slot */
	struct dep_base base;
	struct adept_boot *boot;
	struct dep_started *started;
};

/**
 * dep_running_begin() - begin an injection: may the process be attached to?
 * @proc: dep_proc_open() of process @pid
 * @tid: one of its threads
 * @boot: receives what the engine is started with; the caller's until dep_running_end()
 *
 * Return: -EPERM: the caller may not trace the process.
 */
int dep_running_begin(struct dep_attaching *a, const struct dep_target *t, pid_t pid, int proc,
		      pid_t tid, struct adept_boot *boot, struct dep_why *why);
/**
 * dep_running_begin_paused() - the same for a process that was paused, see leaving.h
 * @slot: its process slot
 *
 * The engine is in its memory: dep_running_build() only starts it again.
 */
int dep_running_begin_paused(struct dep_attaching *a, const struct dep_target *t, u32 slot,
			     pid_t pid, int proc, pid_t tid, struct adept_boot *boot,
			     struct dep_why *why);
/**
 * dep_running_enter() - create the injector's thread in the process
 * @guest: a thread of the process that the caller has stopped.  It makes two system calls, and has
 *	@guest->regs afterwards; the caller can then release it.
 * @tid: receives the number of the new thread, which the caller must not trace
 */
int dep_running_enter(struct dep_attaching *a, const struct dep_running *guest, pid_t *tid,
		      struct dep_why *why);
/**
 * dep_running_build() - put the engine into the process's memory, and start it
 * @alone: the process's threads are stopped, or in system calls
 * @room: estimate of their number
 *
 * The program notices nothing, but that it has another thread and less free memory.
 * dep_running_undo() undoes this and dep_running_enter().
 *
 * Return: -EXDEV: not without @alone, since the process cannot open the session file by its name.
 */
int dep_running_build(struct dep_attaching *a, bool alone, u32 room, struct dep_why *why);
/**
 * dep_running_check() - check privileges and system call filters of all threads
 * @thread: the process's @n threads; remains the caller's
 */
int dep_running_check(struct dep_attaching *a, struct dep_running *thread, u32 n,
		      struct dep_why *why);
/**
 * dep_running_catch() - put int3 where late threads continue
 *
 * The caller checks after it that these are still in their calls.  dep_running_release() undoes it.
 */
int dep_running_catch(struct dep_attaching *a, struct dep_why *why);
void dep_running_release(struct dep_attaching *a);
/** dep_running_caught() - has a late thread with these registers met such an int3? */
bool dep_running_caught(const struct dep_attaching *a, const struct user_regs_struct *regs);
/**
 * dep_running_commit() - move all stopped threads into the engine
 *
 * On success they are not traced any more, and late threads may be released, too.  On failure all
 * are as before the call, except int3 instructions.  If the caller dies during the call, threads
 * that it has not moved enter the engine when they receive a signal.
 */
int dep_running_commit(struct dep_attaching *a, struct dep_injected *out, struct dep_why *why);
/** dep_running_undo() - without dep_running_commit(): remove the engine from the process */
void dep_running_undo(struct dep_attaching *a);
void dep_running_end(struct dep_attaching *a);

#endif
