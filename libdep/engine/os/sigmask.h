/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Emulation of the signal mask for synchronous signals.
 *
 * The kernel never blocks these signals, since the engine's own faults raise them.  t->sync_blocked
 * is their mask in the application's view.  If a process sends such a signal while the application
 * blocks it, while another signal waits for delivery, or while the thread executes the engine's
 * code, the engine holds it back.  In the engine's code another signal may be half delivered, and
 * the kernel's mask need not be the application's.
 */
#ifndef ADEPT_ENGINE_OS_SIGMASK_H
#define ADEPT_ENGINE_OS_SIGMASK_H

#include "sigframe.h"

/** sigmask_filter() - copy the signal set at @set to @copy without the synchronous signals */
const u64 *sigmask_filter(const u64 *set, u64 *copy);
/* The system calls rt_sigprocmask and rt_sigpending.  Return: the result or -errno. */
s64 sigmask_procmask(struct tls *t, u64 a[6]);
s64 sigmask_pending(struct tls *t, const u64 a[6]);
/**
 * sigmask_must_hold() - whether signal @signo, which a process has sent, must be held back
 * @busy: the thread executes the engine's code
 */
int sigmask_must_hold(const struct tls *t, u32 signo, int busy);
/**
 * sigmask_hold() - hold a signal back; as in the kernel, only the first of each number is kept
 *
 * Sets PENDING_HELD, so that sigmask_release() is called before the thread enters the cache.
 */
void sigmask_hold(struct tls *t, u32 signo, const struct k_siginfo *info);
/**
 * sigmask_release() - send signals again that were held back and are no longer blocked
 *
 * The kernel's signal mask must be the application's.
 */
void sigmask_release(struct tls *t);
/** sigmask_release_all() - send all signals again that were held back; all signals are blocked */
void sigmask_release_all(struct tls *t);
/**
 * sigmask_exec_begin() - before execve, block in the kernel the signals that the application blocks
 *
 * A new image inherits the mask and the pending signals.  Until sigmask_exec_failed() a fault of
 * the engine ends the process.
 */
void sigmask_exec_begin(struct tls *t);
void sigmask_exec_failed(struct tls *t);

#endif
