/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Signals of the application.  The engine's handler is installed instead of the application's
 * handlers.  signal.c handles a signal where it arrives; sigframe.c builds and reads the frames
 * that the application's handlers get.
 */
#ifndef ADEPT_ENGINE_OS_SIGNAL_H
#define ADEPT_ENGINE_OS_SIGNAL_H

#include "libdep/engine/base/runtime.h"

/** signal_init() - replace the handlers and default actions that the process has */
void signal_init(struct tls *t);
/** signal_mask() - get the calling thread's signal mask from the kernel */
u64 signal_mask(void);
/**
 * signal_thread_init() - set up signals in a new thread
 *
 * Pending synchronous signals arrive during this call, so @t->sync_blocked must be set before.
 */
void signal_thread_init(struct tls *t);
/** signal_keep_altstack() - remember the alternate stack of a thread that has run natively */
void signal_keep_altstack(struct tls *t);
/** signal_restarts() - does the kernel restart a call with SA_RESTART for the pending signal? */
int signal_restarts(struct tls *t);
/**
 * signal_inherit() - set the signal handlers of a new thread
 * @share: 1: use the handlers of @t; 0: copy them
 */
void signal_inherit(struct tls *child, const struct tls *t, int share);
/** signal_disinherit() - release the handlers of @t */
void signal_disinherit(struct tls *t);
/** signal_clear() - reset all handlers, in a child made with CLONE_CLEAR_SIGHAND */
void signal_clear(struct tls *t);
/** signal_lock_for_fork() - hold (1) or release (0) the lock of signal actions around fork */
void signal_lock_for_fork(int hold);
/**
 * signal_deliver_all() - deliver waiting signals: sets t->regs, t->resume_pc and t->pending = 0
 *
 * Records the context of @t before each signal; see struct dispatch_handlers.
 */
void signal_deliver_all(struct tls *t);
/* The system calls rt_sigaction and sigaltstack.  Return: the result or -errno. */
s64 signal_sigaction(struct tls *t, const u64 a[6]);
s64 signal_sigaltstack(struct tls *t, const u64 a[6]);
/**
 * signal_sigreturn() - rt_sigreturn: leave the handler whose signal frame is at t->regs[rsp]
 *
 * Returns only if a signal waits that must be delivered first.
 */
void signal_sigreturn(struct tls *t);

#endif
