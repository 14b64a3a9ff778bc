/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The synchronous signals in the application's signal mask.
 *
 * The kernel never gets to block these, for the engine's own faults arrive as such; so
 * t->sync_blocked has what the application believes.  One that somebody sends while it is
 * blocked there, or while another signal waits, is held back.
 */
#ifndef ADEPT_ENGINE_OS_SIGMASK_H
#define ADEPT_ENGINE_OS_SIGMASK_H

#include "sigframe.h"

/** sigmask_filter() - a copy of the signal set at @set without the synchronous signals */
const u64 *sigmask_filter(const u64 *set, u64 *copy);
/* The system calls; -errno or the result. */
s64 sigmask_procmask(struct tls *t, u64 a[6]);
s64 sigmask_pending(struct tls *t, const u64 a[6]);
/** sigmask_must_hold() - can @signo, which was sent, not be delivered now? */
int sigmask_must_hold(const struct tls *t, u32 signo);
/** sigmask_hold() - keep it; of each signal only the first, as the kernel does */
void sigmask_hold(struct tls *t, u32 signo, const struct k_siginfo *info);
/** sigmask_release() - send what was held back and is no longer blocked again */
void sigmask_release(struct tls *t);

#endif
