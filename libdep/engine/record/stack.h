/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records a thread's stack as it is when the thread enters the engine. */
#ifndef ADEPT_ENGINE_RECORD_STACK_H
#define ADEPT_ENGINE_RECORD_STACK_H

#include "libdep/engine/base/runtime.h"

/**
 * stack_record() - record the top of the stack of @t, which is the calling thread
 * @end: end of the mapping of the stack; 0: not known, nothing is recorded
 *
 * Only what is in memory: a page that is not may belong to a userfaultfd, whose handler may wait
 * for this very thread.
 */
void stack_record(struct tls *t, u64 end);

#endif
