/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attach: start the engine in a process that is already running. */
#ifndef ADEPT_ENGINE_OS_ATTACH_H
#define ADEPT_ENGINE_OS_ATTACH_H

#include "libdep/engine/base/runtime.h"

/** attach_fits() - does the heap have room for @n threads, and as much for the rest? */
int attach_fits(u32 n);

/** attach_forget() - after a pause: free the state of threads that have left the engine */
void attach_forget(void);

/**
 * attach_make_room() - allocate memory for the state of @n threads, which attach_all() uses
 * @thread: table of @n entries, still empty
 */
void attach_make_room(struct adept_attached *thread, u32 n);

/**
 * attach_all() - take over signal actions, and create the state of all threads
 * @thread: table of the @n threads, from the injector
 *
 * None of them runs meanwhile, except those in system calls.
 */
void attach_all(struct adept_attached *thread, u32 n);

/** attach_take_state() - copy the injector's data on @t to @t, when the thread enters the engine */
void attach_take_state(struct tls *t);

/**
 * attach_record() - record how @t has entered the engine, its stack and its registers
 *
 * If it has returned from a system call, that call as well.
 */
void attach_record(struct tls *t);

#endif
