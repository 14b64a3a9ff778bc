/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Late threads: after an attach they run natively until their system calls return. */
#ifndef ADEPT_ENGINE_OS_LATE_H
#define ADEPT_ENGINE_OS_LATE_H

#include "libdep/engine/base/runtime.h"

struct k_siginfo;
struct k_ucontext;

/** late_expect_none() - begin an attach */
void late_expect_none(void);
/** late_expect() - the thread of @a will be late; called before any thread runs in the engine */
void late_expect(const struct adept_attached *a);
/** late_is_here() - in a signal handler: is the calling thread a late one, without a tls? */
int late_is_here(void);
/** late_tls() - the tls that the calling thread, a late one, will have in the engine */
struct tls *late_tls(void);
/**
 * late_enter() - make the calling thread enter the engine when its signal handler returns
 * @uc: the signal frame, which is changed
 * @met_int3: set to 1 if the signal is that of the int3 behind the thread's system call; otherwise
 *	the signal must be delivered to the program
 *
 * Return: its tls.
 */
struct tls *late_enter(u32 signo, const struct k_siginfo *info, struct k_ucontext *uc,
		       int *met_int3);
/** late_entered() - @t runs in the engine; the last late thread removes the int3 instructions */
void late_entered(struct tls *t);
/** late_forked() - a forked child has no late threads */
void late_forked(void);

#endif
