/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The dispatcher: where execution goes when the cache does not know.  Called by
 * gate.S on the runtime stack with the application's registers in t->regs; each
 * returns the cache address to enter.
 */
#ifndef ADEPT_ENGINE_TRANSLATE_DISPATCH_H
#define ADEPT_ENGINE_TRANSLATE_DISPATCH_H

#include "fragment.h"

u8 *dispatch_exit(struct tls *t);
u8 *dispatch_miss(struct tls *t);
u8 *dispatch_trap(struct tls *t);
u8 *dispatch_syscall(struct tls *t);	/* os/syscall.c */
u8 *dispatch_resume(struct tls *t);
/** dispatch_to() - go on at @pc where recovery knows the registers @known */
u8 *dispatch_to(struct tls *t, u64 pc, u16 known);
struct exit *dispatch_exit_taken(const struct tls *t);

#define KNOWN_ALL	0xffff

#endif
