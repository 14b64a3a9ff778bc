/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Thread slots of the session file.  t->ring is a thread's slot, or NULL.  It changes only under
 * the thread slot lock (slots_hold()).
 */
#ifndef ADEPT_ENGINE_RECORD_THREAD_SLOTS_H
#define ADEPT_ENGINE_RECORD_THREAD_SLOTS_H

#include "libdep/engine/base/runtime.h"

struct tls;

/** slots_hold() - hold (1) or release (0) the thread slot lock */
void slots_hold(int hold);
/**
 * slots_claim() - claim a free slot that this process may use; -1: none; the caller holds the lock
 */
int slots_claim(void);
/**
 * slots_take() - get a slot and a serial for new thread @t
 *
 * If no slot is free, waits while there are slots of ended threads, which become free soon.
 *
 * Return: 0 if there is no slot.
 */
int slots_take(struct tls *t);
/** slots_name() - copy the current thread's name to its slot, if the thread has a slot */
void slots_name(struct tls *t);
/** slots_leave() - detach @t from its slot, and set the slot's state to @state */
void slots_leave(struct tls *t, u32 state);

#endif
