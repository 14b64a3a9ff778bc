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

/* struct tls.rest; only the thread itself leaves RUNS and RESTS, only who stops it HELD */
enum rest_state {
	REST_RUNS,
	REST_RESTS,
	REST_HELD,	/* at rest, and it must wait before it goes on */
};

/** struct group - threads that end together: those of one process, as the kernel has it */
struct group {
	u32 stop;	/* futex: tid of the thread that wants the others at rest, or 0 */
	u32 nthreads;	/* under the lock of thread.c */
};

/** rest_begin() - at rest from here on, between records or with its chunk published */
void rest_begin(struct tls *t);
/** rest_end() - it goes on; waits while it is held */
void rest_end(struct tls *t);
/** rest_if_asked() - between records, with the application's state in @t */
void rest_if_asked(struct tls *t);
/** rest_wanted() - does somebody want this thread at rest */
int rest_wanted(const struct tls *t);
/** rest_is_kick() - is the signal the one that asks for it */
int rest_is_kick(const struct tls *t, u32 signo, const struct k_siginfo *info);

/**
 * rest_stop_others() - bring all other threads of @t's process to rest and hold them
 * @status: of their streams' ends
 *
 * Waits for another thread that does the same.  After a second in which not one more
 * has come to rest the others are left as they are; they are counted then.
 */
void rest_stop_others(struct tls *t, u32 status);
/** rest_let_go() - the end did not come */
void rest_let_go(struct tls *t);

#endif
