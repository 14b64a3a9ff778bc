/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Signals of the application.  signal.c handles a signal where it arrives; sigframe.c builds and
 * reads the frames that the application's handlers get; sigaction.c has the actions.
 */
#ifndef ADEPT_ENGINE_OS_SIGNAL_H
#define ADEPT_ENGINE_OS_SIGNAL_H

#include "libdep/engine/base/runtime.h"

struct k_siginfo;
struct k_ucontext;

/** signal_handler() - the kernel's action for each handler of the application, and for faults */
void signal_handler(int signo, struct k_siginfo *info, struct k_ucontext *uc);
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
/**
 * signal_give_back() - for a thread that is to run natively: give the kernel the application's
 *	alternate stack, and signals that were held back
 *
 * All signals are blocked.  signal_take_again() undoes it; then the latter signals arrive when they
 * are unblocked.
 */
void signal_give_back(struct tls *t);
void signal_take_again(struct tls *t);
/**
 * signal_deliver_all() - deliver waiting signals: sets t->regs, t->resume_pc and t->pending = 0
 *
 * Records the context of @t before each signal; see struct dispatch_handlers.
 */
void signal_deliver_all(struct tls *t);
/** signal_sigaltstack() - the system call sigaltstack.  Return: the result or -errno. */
s64 signal_sigaltstack(struct tls *t, const u64 a[6]);
/**
 * signal_sigreturn() - rt_sigreturn: leave the handler whose signal frame is at t->regs[rsp]
 *
 * Returns only if a signal waits that must be delivered first.
 */
void signal_sigreturn(struct tls *t);

#endif
