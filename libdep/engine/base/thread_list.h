/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The threads of this address space: those of the process, and vfork children. */
#ifndef ADEPT_ENGINE_BASE_THREAD_LIST_H
#define ADEPT_ENGINE_BASE_THREAD_LIST_H

#include "runtime.h"

/** struct group - the threads of one process of the kernel, which end together */
struct group {
	u32 stop;	/* futex: tid of the thread that stops the others, or 0 (os/stop_world.c) */
	u32 nthreads;	/* under threads_lock */
};

/** thread_list_add() - add @t, which has a group */
void thread_list_add(struct tls *t);
/**
 * thread_list_retire() - remove @t
 *
 * Frees its group if that has no other thread.  The block of @t can be reused once t->gone is set.
 */
void thread_list_retire(struct tls *t);
/** thread_list_reuse() - the block of a retired thread that has exited, or NULL */
struct tls *thread_list_reuse(void);
/** thread_list_forked() - in a new process: @t is its only thread, in a new group */
void thread_list_forked(struct tls *t);
/** thread_list_lock_for_fork() - hold (1) or release (0) the lock around fork */
void thread_list_lock_for_fork(int hold);
/** thread_each_other() - call @f for the other threads of @t's process; returns the sum */
u32 thread_each_other(const struct tls *t, u32 (*f)(struct tls *o, u32 arg), u32 arg);
/** thread_each() - call @f for each thread in this address space, including vfork children */
void thread_each(void (*f)(struct tls *t));

#endif
