/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_ENGINE_OS_THREAD_H
#define ADEPT_ENGINE_OS_THREAD_H

#include "libdep/engine/base/runtime.h"

struct group;

/** thread_alloc() - a thread in the making, at rest; @g NULL: the first of its process */
struct tls *thread_alloc(struct group *g);
void thread_free(struct tls *t);
/** thread_each_other() - the sum of @f over the other threads of @t's process */
u32 thread_each_other(const struct tls *t, u32 (*f)(struct tls *o, u32 arg), u32 arg);
/** thread_each() - @f with each thread in this address space, in another process or not */
void thread_each(void (*f)(struct tls *t));
/** thread_first() - the process's first thread, from the boot parameters */
struct tls *thread_first(void);
/** thread_sys_clone() - clone, clone3, fork, vfork */
s64 thread_sys_clone(struct tls *t, u64 nr, u64 a[6]);
/** thread_exit() - SYS_exit: the thread's stream ends */
__attribute__((noreturn)) void thread_exit(struct tls *t, u64 status);
/** thread_exit_group() - end the process's streams, then exit_group */
__attribute__((noreturn)) void thread_exit_group(struct tls *t, u64 status);

/** thread_claim_process_slot() - one of the session's table, claimed; or NO_SLOT */
u32 thread_claim_process_slot(void);
/** thread_without_slot() - what a process counts as that this one creates without a slot for it */
enum adept_native thread_without_slot(void);
/** thread_wait_for_slot() - until a process slot is free, if one may soon be */
void thread_wait_for_slot(void);
/**
 * thread_exec_slot() - a slot for a process that has none, to ask for an execve by
 *
 * It is known by that, and no longer counted as lost; its threads are.  NULL: none is free.
 */
struct adept_proc *thread_exec_slot(void);

#endif
