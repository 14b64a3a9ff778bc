/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* List of the threads in this address space: those of the process and its vfork children. */
#ifndef ADEPT_ENGINE_BASE_THREAD_LIST_H
#define ADEPT_ENGINE_BASE_THREAD_LIST_H

#include "runtime.h"

/** struct group - the threads that the kernel considers one process, which end together */
struct group {
	/* futex: tid of the thread that stops the group's others, or 0 (os/stop_world.c) */
	u32 stop;
	u32 nthreads;	/* number of threads; under threads_lock */
};

/** thread_list_add() - add @t, whose group is already set */
void thread_list_add(struct tls *t);
/**
 * thread_list_retire() - remove @t from the list
 *
 * Frees the thread's group if no other thread is in it.  The memory of @t can be reused once
 * t->gone is set.
 */
void thread_list_retire(struct tls *t);
/**
 * thread_list_reuse() - get the struct tls of a thread that has exited, or NULL, for a new thread
 */
struct tls *thread_list_reuse(void);
/** thread_list_first() - any thread of the list; NULL: there is none */
struct tls *thread_list_first(void);
/** thread_list_forked() - in a forked child: make @t its only thread, in a new group */
void thread_list_forked(struct tls *t);
/** thread_list_lock_for_fork() - hold (1) or release (0) the thread list's lock around fork */
void thread_list_lock_for_fork(int hold);
/**
 * thread_each_other() - call @f for the other threads of @t's process; returns the sum of results
 */
u32 thread_each_other(const struct tls *t, u32 (*f)(struct tls *o, u32 arg), u32 arg);
/** thread_each() - call @f for each thread in this address space, including vfork children */
void thread_each(void (*f)(struct tls *t));

#endif
