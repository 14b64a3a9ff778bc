/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Signal actions of the program, and the kernel's actions for them. */
#ifndef ADEPT_ENGINE_OS_SIGACTION_H
#define ADEPT_ENGINE_OS_SIGACTION_H

#include "sigframe.h"
#include "libdep/engine/base/runtime.h"

/** sigaction_init() - replace the handlers and default actions that the process has */
void sigaction_init(struct tls *t);
/** sigaction_restore() - set the kernel's actions to those of the program, at a detach */
void sigaction_restore(const struct tls *t);
/**
 * sigaction_inherit() - set the signal handlers of a new thread
 * @share: 1: use the handlers of @t; 0: copy them
 */
void sigaction_inherit(struct tls *child, const struct tls *t, int share);
/** sigaction_disinherit() - release the handlers of @t */
void sigaction_disinherit(struct tls *t);
/** sigaction_clear() - reset all handlers, in a child made with CLONE_CLEAR_SIGHAND */
void sigaction_clear(struct tls *t);
/** sigaction_lock_for_fork() - hold (1) or release (0) the lock of signal actions around fork */
void sigaction_lock_for_fork(int hold);

/** sigaction_ends_process() - whether @sa is the default action, and that ends the process */
int sigaction_ends_process(u32 signo, const struct k_sigaction *sa);
/**
 * sigaction_begin() - get the program's action for a signal that is delivered now
 *
 * If it is a handler with SA_RESETHAND, the action becomes the default, here and in the kernel.
 */
void sigaction_begin(struct tls *t, u32 signo, struct k_sigaction *sa);
/** sigaction_restarts() - does the kernel restart a call with SA_RESTART for the pending signal? */
int sigaction_restarts(struct tls *t);

/** sigaction_syscall() - the system call rt_sigaction.  Return: the result or -errno. */
s64 sigaction_syscall(struct tls *t, const u64 a[6]);

#endif
