/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Detach and pause: the threads of a process leave the engine and run natively. */
#ifndef ADEPT_ENGINE_OS_LEAVE_H
#define ADEPT_ENGINE_OS_LEAVE_H

#include "libdep/engine/base/runtime.h"

/**
 * leave_wait() - wait for the tracer to move the thread out of the engine
 * @call: number of the interrupted system call, as in struct adept_leaver; -1: none
 *
 * @t is at a record boundary, with its state in t->regs and t->resume_pc.  Returns only if the
 * tracer gives up, or if a signal waits to be delivered first.  t->interrupted_call is then the
 * call that is still to be made, or -1; the thread's state may have changed to that in the call.
 */
void leave_wait(struct tls *t, s64 call);

/** leave_has_paused() - is the engine in a process that was paused? */
int leave_has_paused(void);
/** leave_resume() - end a pause; the threads are about to enter the engine */
void leave_resume(void);

/** leave() - struct dispatch_handlers.leave */
u8 *leave(struct tls *t);

#endif
