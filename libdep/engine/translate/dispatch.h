/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Dispatcher: finds or builds the next fragment when the cache has no link to it.
 *
 * gate.S calls these functions on the runtime stack, with the application's registers in t->regs.
 * Each returns the cache address to enter.
 */
#ifndef ADEPT_ENGINE_TRANSLATE_DISPATCH_H
#define ADEPT_ENGINE_TRANSLATE_DISPATCH_H

#include "code_cache.h"

/**
 * struct dispatch_handlers - functions of the os layer that the dispatcher calls
 * @syscall: execute a system call of the application; returns the cache address to enter
 * @deliver: deliver all waiting signals; afterwards t->pending is 0
 * @leave: a detach is requested: wait until the thread is moved out of the engine; returns only if
 *	it is not, with the cache address to enter
 */
struct dispatch_handlers {
	u8 *(*syscall)(struct tls *t);
	void (*deliver)(struct tls *t);
	u8 *(*leave)(struct tls *t);
};

/** dispatch_init() - set the handlers; called before the first thread runs */
void dispatch_init(const struct dispatch_handlers *h);
u8 *dispatch_exit(struct tls *t);
u8 *dispatch_miss(struct tls *t);
u8 *dispatch_trap(struct tls *t);
u8 *dispatch_syscall(struct tls *t);
u8 *dispatch_resume(struct tls *t);
/**
 * dispatch_to() - get the cache address to continue at @pc; @known: registers that recovery knows
 */
u8 *dispatch_to(struct tls *t, u64 pc, u16 known);
struct exit *dispatch_exit_taken(const struct tls *t);

#define KNOWN_ALL	0xffff

#endif
