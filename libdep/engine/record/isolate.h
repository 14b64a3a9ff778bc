/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What processes keep of the session file that have fewer rights than others that have it.
 */
#ifndef ADEPT_ENGINE_RECORD_ISOLATE_H
#define ADEPT_ENGINE_RECORD_ISOLATE_H

#include "libdep/engine/base/runtime.h"

/**
 * isolate() - let go of the session file, but for what is this process's own
 * @nprocs: how many process slots to keep for processes that it will create
 *
 * Takes frag_lock and the lock of slots.  A process that has no slot lets go of all.
 */
void isolate(u32 nprocs);

/** isolate_image() - the same, of a new image of an isolated process, before it runs */
void isolate_image(void);

/** isolate_threads() - how many thread slots are the process's to choose from; *@slots which */
u32 isolate_threads(const u32 **slots);
/** isolate_procs() - the same of process slots, its own among them */
u32 isolate_procs(const u32 **slots);

/** isolate_may_use_exit() - is @id, taken from the session's counter, the process's to use? */
int isolate_may_use_exit(u32 id);
/** isolate_may_use_serial() - the same of a thread's serial */
int isolate_may_use_serial(u32 serial);

#endif
