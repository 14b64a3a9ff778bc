/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The application's signals.  Our handlers stand in for its own; signal.c decides
 * what a signal means at the point where it arrived, sigframe.c builds and takes
 * apart the frames that the application sees.
 */
#ifndef ADEPT_ENGINE_OS_SIGNAL_H
#define ADEPT_ENGINE_OS_SIGNAL_H

#include "libdep/engine/base/runtime.h"

void signal_init(struct tls *t);
/** signal_thread_init() - what each thread needs by itself; @old: its mask before, or NULL */
void signal_thread_init(struct tls *t, u64 *old);
/**
 * signal_inherit() - the handlers of a thread in the making
 * @share: it has those of @t, else a copy that goes its own way
 */
void signal_inherit(struct tls *child, const struct tls *t, int share);
/** signal_disinherit() - @t needs its handlers no more */
void signal_disinherit(struct tls *t);
/** signal_clear() - no handlers: what CLONE_CLEAR_SIGHAND wants, in the child */
void signal_clear(struct tls *t);
/** signal_lock_for_fork() - hold (1) or release (0) the lock of all actions around fork */
void signal_lock_for_fork(int hold);
/** signal_deliver() - hand the pending signal to the application: sets t->regs and resume_pc */
void signal_deliver(struct tls *t);
/* The system calls that concern signals; -errno or the result. */
s64 signal_sigaction(struct tls *t, const u64 a[6]);
s64 signal_sigaltstack(struct tls *t, const u64 a[6]);
/**
 * signal_sigreturn() - leave the handler whose frame is at t->regs[rsp]
 *
 * Returns only if a signal waits to be delivered first.
 */
void signal_sigreturn(struct tls *t);

#endif
