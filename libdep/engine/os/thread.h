/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_ENGINE_OS_THREAD_H
#define ADEPT_ENGINE_OS_THREAD_H

#include "libdep/engine/base/runtime.h"

struct group;

/** thread_alloc() - allocate a new thread, at a safe point; @g NULL: the first of its process */
struct tls *thread_alloc(struct group *g);
void thread_free(struct tls *t);
/** thread_each_other() - call @f for the other threads of @t's process; returns the sum */
u32 thread_each_other(const struct tls *t, u32 (*f)(struct tls *o, u32 arg), u32 arg);
/** thread_each() - call @f for each thread in this address space, including vfork children */
void thread_each(void (*f)(struct tls *t));
/** thread_first() - make the process's first thread, from the boot parameters */
struct tls *thread_first(void);
/** thread_sys_clone() - clone, clone3, fork, vfork */
s64 thread_sys_clone(struct tls *t, u64 nr, u64 a[6]);
/** thread_exit() - SYS_exit: end the thread's stream and the thread */
__attribute__((noreturn)) void thread_exit(struct tls *t, u64 status);
/** thread_exit_group() - end the process's streams, then exit_group */
__attribute__((noreturn)) void thread_exit_group(struct tls *t, u64 status);

/** thread_claim_process_slot() - claim a process slot.  Return: its index or NO_SLOT */
u32 thread_claim_process_slot(void);
/** thread_without_slot() - how to count a process or image that gets no slot */
enum adept_native thread_without_slot(void);
/** thread_wait_for_slot() - wait for a free process slot while one may become free soon */
void thread_wait_for_slot(void);
/**
 * thread_exec_slot() - claim a slot for a process without one, to request an execve
 *
 * The process is then no longer counted as lost; its threads are.
 *
 * Return: NULL if none is free.
 */
struct adept_proc *thread_exec_slot(void);

#endif
