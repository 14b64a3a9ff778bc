/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_ENGINE_OS_THREAD_H
#define ADEPT_ENGINE_OS_THREAD_H

#include "libdep/engine/base/runtime.h"

struct group;

/**
 * thread_alloc() - allocate a thread's state, at a safe point; @g NULL: first thread of a process
 */
struct tls *thread_alloc(struct group *g);
/** thread_memory() - bytes of the heap that thread_alloc() takes */
u64 thread_memory(void);
/** thread_free() - free @t; its memory can be reused once t->gone is set */
void thread_free(struct tls *t);
/** thread_first() - allocate the state of the process's first thread, from the boot parameters */
struct tls *thread_first(void);
/** thread_sys_clone() - make the application's clone, clone3, fork or vfork call */
s64 thread_sys_clone(struct tls *t, u64 nr, u64 a[6]);
/** thread_exit() - make the system call exit; returns SYS_ABORTED if a signal came first */
s64 thread_exit(struct tls *t, u64 status);
/** thread_end() - end the thread's stream and the thread, whatever signals have arrived */
__attribute__((noreturn)) void thread_end(struct tls *t, u64 status);
/** thread_exit_group() - end the process's streams, then exit_group */
__attribute__((noreturn)) void thread_exit_group(struct tls *t, u64 status);

#endif
