/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Safe points.  At a safe point, a thread's stream ends at a record boundary, and the thread adds
 * nothing to it.
 *
 * A thread is at a safe point while it is in a system call of the application, while it is being
 * created, and while it waits for room in its ring.
 */
#ifndef ADEPT_ENGINE_RECORD_SAFEPOINT_H
#define ADEPT_ENGINE_RECORD_SAFEPOINT_H

#include "libdep/engine/base/thread_list.h"

/*
 * Values of struct tls.stop_state.  The thread itself changes between RUNNING and SAFEPOINT; a
 * thread that stops it changes between SAFEPOINT and STOPPED.
 */
enum stop_state {
	STOP_RUNNING,
	STOP_SAFEPOINT,
	STOP_STOPPED,	/* stopped at a safe point, which the thread must not leave */
};

/** safepoint_enter() - enter a safe point, at a record boundary or after the chunk is published */
void safepoint_enter(struct tls *t);
/**
 * safepoint_leave() - leave the safe point; waits while the thread is stopped
 *
 * Sets PENDING_STOP if a detach is requested.
 */
void safepoint_leave(struct tls *t);
/** safepoint_poll() - if a stop is requested, wait at a safe point; called at a record boundary */
void safepoint_poll(struct tls *t);
/** stop_requested() - whether another thread is stopping thread @t */
int stop_requested(const struct tls *t);
/** leave_requested() - whether a tracer detaches from @t's process (os/leave.c) */
int leave_requested(const struct tls *t);

#endif
