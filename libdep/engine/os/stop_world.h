/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads at rest: nothing of a thread's stream is unfinished, and nothing is added to
 * it.  So is a thread in the application's system calls, in the making, and one that
 * waits for room in its ring.  Who ends the process, or its image, brings the others
 * there first.
 */
#ifndef ADEPT_ENGINE_OS_STOP_WORLD_H
#define ADEPT_ENGINE_OS_STOP_WORLD_H

#include "libdep/engine/base/runtime.h"

struct k_siginfo;

/* struct tls.stop_state; only the thread itself leaves RUNS and RESTS, only who stops it HELD */
enum stop_state {
	STOP_RUNNING,
	STOP_SAFEPOINT,
	STOP_STOPPED,	/* at rest, and it must wait before it goes on */
};

/** struct group - threads that end together: those of one process, as the kernel has it */
struct group {
	u32 stop;	/* futex: tid of the thread that wants the others at rest, or 0 */
	u32 nthreads;	/* under the lock of thread.c */
};

/** safepoint_enter() - at rest from here on, between records or with its chunk published */
void safepoint_enter(struct tls *t);
/** safepoint_leave() - it goes on; waits while it is held */
void safepoint_leave(struct tls *t);
/** safepoint_poll() - between records, with the application's state in @t */
void safepoint_poll(struct tls *t);
/** stop_requested() - does somebody want this thread at rest */
int stop_requested(const struct tls *t);
/** is_stop_signal() - is the signal the one that asks for it */
int is_stop_signal(const struct tls *t, u32 signo, const struct k_siginfo *info);

/**
 * stop_world() - bring all other threads of @t's process to rest and hold them
 * @status: of their streams' ends
 *
 * Waits for another thread that does the same.  After a second in which not one more
 * has come to rest the others are left as they are; they are counted then.
 */
void stop_world(struct tls *t, u32 status);
/** resume_world() - the end did not come */
void resume_world(struct tls *t);

#endif
