/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stop-the-world: brings all other threads of a process to safe points.
 *
 * A thread that ends the process or its image stops the others first, so that their streams are
 * complete.  Safe points: record/safepoint.h.
 */
#ifndef ADEPT_ENGINE_OS_STOP_WORLD_H
#define ADEPT_ENGINE_OS_STOP_WORLD_H

#include "libdep/engine/base/runtime.h"

struct k_siginfo;

/**
 * is_stop_signal() - whether the signal is the SIGTRAP of stop_world(), or that of a detach
 */
int is_stop_signal(const struct tls *t, u32 signo, const struct k_siginfo *info);

/**
 * stop_world() - stop all other threads of @t's process at safe points
 * @t: calling thread
 * @status: status in the end events that are written to the streams of the stopped threads
 *
 * If another thread is already stopping the process, waits for it.  Gives up when no further thread
 * has stopped for one second; the remaining threads continue to run.  Does nothing if nothing is
 * recorded (--no-record, dry run).
 */
void stop_world(struct tls *t, u32 status);
/** resume_world() - undo stop_world(), because the process did not end */
void resume_world(struct tls *t);

#endif
