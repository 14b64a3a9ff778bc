/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Moves the threads of a recorded process out of the engine.
 *
 * The caller traces all threads, and has stopped those that it passes.  engine/os/leave.c is the
 * other side.
 *
 * The caller must be a process of its own: these functions end it if the process that it traces
 * does not answer for 5 seconds.
 */
#ifndef ADEPT_INJECT_LEAVING_H
#define ADEPT_INJECT_LEAVING_H

#include <sys/user.h>

#include "inject.h"

struct dep_owner;
struct dep_starter;

/** struct dep_leaving - private: a process that is being detached from */
struct dep_leaving {
	const struct dep_target *t;
	struct adept_proc *slot;
	u32 serial;			/* of the process in the slot */
	struct dep_owner *owner;
	pid_t pid;
	int mem;
	bool pause;
	struct dep_starter *unmapper;	/* thread that unmaps the engine, or NULL */
	struct adept_boot boot;		/* the process's, read at the beginning */
};

/**
 * struct dep_leaver - a thread
 * @ready:	it is stopped, and can be moved
 * @asked:	the caller's: it was let go on after dep_leaving_ask()
 * @native:	it never was in the engine: after an attach it has not returned from its system call
 * @tls:	address of its state in the engine; 0: not known
 */
struct dep_leaver {
	pid_t tid;
	u64 tls;
	bool ready, native, asked;
};

/**
 * dep_leaving_begin() - ask the process to leave
 * @slot: its process slot
 * @proc: dep_proc_open() of it
 * @pause: the engine stays in the process, to be started again by dep_running_begin_paused()
 *
 * From now on its threads wait at safe points, until dep_leaving_end().  They go on in the engine
 * if the calling thread dies before dep_leaving_commit().
 *
 * Return: 0; -ESRCH: @slot is not that of a live process @pid; -ESTALE: the process has executed
 * another program, and has another slot; -EBUSY: it is about to do so, or another caller does the
 * same as this one; or another negative errno.
 */
int dep_leaving_begin(struct dep_leaving *l, const struct dep_target *t, u32 slot, pid_t pid,
		      int proc, bool pause, struct dep_why *why);

/** dep_leaving_is_orphan() - has the tracer died after the end of the recording of this process? */
bool dep_leaving_is_orphan(const struct dep_target *t, u32 slot);

/**
 * dep_leaving_check() - is the process still that of dep_leaving_begin()?
 *
 * Return: 0; -ESTALE: it has executed another program; -EBUSY: it is about to.
 */
int dep_leaving_check(const struct dep_leaving *l, struct dep_why *why);
/** dep_leaving_in_call() - is a thread with this program counter in a call of the program? */
bool dep_leaving_in_call(const struct dep_leaving *l, u64 pc);
/** dep_leaving_outside() - is this program counter outside of the engine's image? */
bool dep_leaving_outside(const struct dep_leaving *l, u64 pc);
/** dep_leaving_wait_pc() - the program counter of a thread that waits to be moved */
u64 dep_leaving_wait_pc(const struct dep_leaving *l);
/** dep_leaving_waits() - does a thread with this program counter wait to be moved? */
bool dep_leaving_waits(const struct dep_leaving *l, u64 pc);

/** dep_leaving_has_come() - does a thread that was asked say that it waits to be moved? */
bool dep_leaving_has_come(const struct dep_leaving *l, const struct dep_leaver *th);

/**
 * dep_leaving_ask() - make a stopped thread come to a safe point, or find that it waits there
 * @regs:  its registers
 * @again: its system call was ended by the stop, and may be made again
 *
 * If @th->native is true afterwards, leave the thread stopped until the commit.  Otherwise, if
 * @th->ready is false, let it continue.
 *
 * Return: 0, or -ESRCH if it has died.
 */
int dep_leaving_ask(struct dep_leaving *l, struct dep_leaver *th,
		    const struct user_regs_struct *regs, bool again);

/**
 * dep_leaving_commit() - end the recording of the process; @th is stopped and ready
 *
 * All other threads are stopped and ready or native, too, or in system calls of the program.
 *
 * Return: 0; -EAGAIN: a thread is at another place, and all threads go on as before; -ESRCH: the
 * process has died.
 */
int dep_leaving_commit(struct dep_leaving *l, struct dep_leaver *th);

/**
 * dep_leaving_signal() - dep_leaving_ask() for a thread that is about to receive a signal, after
 *	the commit
 *
 * Let the thread continue with the signal, which then waits until it runs natively.
 */
int dep_leaving_signal(struct dep_leaving *l, struct dep_leaver *th,
		       const struct user_regs_struct *regs, bool again);

/**
 * dep_leaving_move() - let a ready thread run natively, no longer traced; after the commit
 * @last: it is the last thread: call dep_leaving_unmap() next; not in a pause
 *
 * Return: 0; 1: moved, but the engine's memory could not be unmapped; -ESRCH: it has died.
 */
int dep_leaving_move(struct dep_leaving *l, struct dep_leaver *th, bool last);
/**
 * dep_leaving_unmap() - unmap the engine, if dep_leaving_move() has not done so already
 *
 * The process's threads run natively meanwhile.  Return: 0; 1: some of it is still mapped.
 */
int dep_leaving_unmap(struct dep_leaving *l);

/**
 * dep_leaving_release() - let a stopped native thread go on, no longer traced; after the commit
 * @sig: the signal that it is about to receive; 0: none
 */
void dep_leaving_release(const struct dep_leaving *l, pid_t tid, int sig);

/**
 * dep_leaving_end() - end the handshake
 * @left: all threads were moved, or the process has died; otherwise the threads go on in the
 *	engine, which is possible before the commit only
 */
void dep_leaving_end(struct dep_leaving *l, bool left);
/** dep_leaving_free() - behind dep_leaving_end(): the caller traces no thread any more */
void dep_leaving_free(struct dep_leaving *l);

#endif
