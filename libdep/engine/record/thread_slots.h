/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Thread slots of the session file.  t->ring says which one a thread has, and changes under the
 * lock of slots only.
 */
#ifndef ADEPT_ENGINE_RECORD_THREAD_SLOTS_H
#define ADEPT_ENGINE_RECORD_THREAD_SLOTS_H

#include "libdep/engine/base/runtime.h"

struct tls;

/** slots_hold() - hold (1) or release (0) the lock of slots */
void slots_hold(int hold);
/** slots_claim() - a free slot of those that this process may use, claimed, or -1; lock held */
int slots_claim(void);
/**
 * slots_take() - a slot and a serial for a new thread
 *
 * Waits for slots of threads that have ended.  Return: 0 if there is none.
 */
int slots_take(struct tls *t);
/** slots_leave() - the thread has no slot any more, whose state is @state from here on */
void slots_leave(struct tls *t, u32 state);

#endif
