/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The engine in a process that ran before. */
#ifndef ADEPT_ENGINE_OS_ATTACH_H
#define ADEPT_ENGINE_OS_ATTACH_H

#include "libdep/engine/base/runtime.h"

/**
 * attach_prepare() - make the state of all threads, of which only the calling one may run
 * @thread: a table from the injector
 *
 * Runs on the boot stack.  Does not return: the injector makes each thread continue at
 * thread_attached.
 */
__attribute__((noreturn)) void attach_prepare(struct adept_attached *thread, u32 n);

/** attach_take_state() - take over the state of an attached thread, which begins to run */
void attach_take_state(struct tls *t);

#endif
