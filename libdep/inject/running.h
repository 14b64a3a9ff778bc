/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Puts the engine into a process that runs already.
 *
 * The caller has stopped all threads, except those in system calls that must not be interrupted.
 * These it also traces.  They enter the engine by an int3 when their calls return:
 * dep_running_catch().
 */
#ifndef ADEPT_INJECT_RUNNING_H
#define ADEPT_INJECT_RUNNING_H

#include <sys/user.h>

#include "inject.h"

/**
 * struct dep_running - a thread of a running process, traced by the caller
 * @sig:	signal that it is about to receive; 0: none
 * @late:	it is in a system call, and @regs and @sig are not set
 * @pc:		with @late: where it continues after the call
 * @call:	with @late: the system call
 * @returned:	the system call from which it has returned; -1: none
 * @regs:	with which it is to go on.  orig_rax is the number of an interrupted system call
 *		that is to be restarted, or -1.
 */
struct dep_running {
	pid_t tid;
	int sig;
	bool late;
	u64 pc;
	s64 call, returned;
	struct user_regs_struct regs;
};

/** struct dep_attaching - private: an injection, until all threads are in the engine */
struct dep_attaching {
	const struct dep_target *t;
	struct dep_running *thread;
	u32 n;
	int mem;
	struct dep_base base;
	struct adept_boot *boot;
	struct adept_attached *table;
	u64 table_at, table_size;
};

/**
 * dep_running_begin() - begin an injection: check privileges and system call filters of all threads
 * @proc: dep_proc_open() of the process
 * @boot: receives what the engine is started with; the caller's until dep_running_end()
 *
 * @thread remains the caller's, too.  Return: 0 or a negative errno.
 */
int dep_running_begin(struct dep_attaching *a, const struct dep_target *t, int proc,
		      struct dep_running *thread, u32 n, struct adept_boot *boot,
		      struct dep_why *why);
/**
 * dep_running_catch() - put int3 where late threads continue
 * @proc: as for dep_running_begin()
 *
 * The caller checks after it that these are still in their calls.  dep_running_release() undoes it.
 */
int dep_running_catch(struct dep_attaching *a, int proc, struct dep_why *why);
void dep_running_release(struct dep_attaching *a);
/** dep_running_caught() - has a late thread with these registers met such an int3? */
bool dep_running_caught(const struct dep_attaching *a, const struct user_regs_struct *regs);
/**
 * dep_running_inject() - start the engine in a stopped thread, and move all stopped ones
 *
 * On success they are not traced any more, and late threads may be released, too.  On failure all
 * are as before the call, except int3 instructions.  If the caller dies during the call, that first
 * thread can be left with the registers of a system call that it did not make.
 *
 * Return: as dep_attach().
 */
int dep_running_inject(struct dep_attaching *a, pid_t pid, int proc, struct dep_injected *out,
		       struct dep_why *why);
void dep_running_end(struct dep_attaching *a);

#endif
