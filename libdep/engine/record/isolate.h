/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Isolation: removes the other processes' part of the session file from a process that gives up
 * rights.
 */
#ifndef ADEPT_ENGINE_RECORD_ISOLATE_H
#define ADEPT_ENGINE_RECORD_ISOLATE_H

#include "libdep/engine/base/runtime.h"

/**
 * isolate() - unmap the parts of the session file that belong to other processes
 * @nprocs: number of process slots to reserve for processes that this process will create
 *
 * Takes frag_lock and the thread slot lock.  A process without a slot unmaps the whole file.  Does
 * nothing in a process that is already isolated.
 */
void isolate(u32 nprocs);

/** isolate_image() - isolate a new image of a process in a domain, before the image runs */
void isolate_image(void);

/** isolate_threads() - set *@slots to the thread slots of the domain.  Return: their number */
u32 isolate_threads(const u32 **slots);
/** isolate_procs() - set *@slots to the process slots of the domain.  Return: their number */
u32 isolate_procs(const u32 **slots);

/**
 * isolate_may_use_exit() - whether the batch of exit ids from @id on is the domain's; always 1
 * outside of a domain
 */
int isolate_may_use_exit(u32 id);
/** isolate_may_use_serial() - whether @serial is the domain's; always 1 outside of a domain */
int isolate_may_use_serial(u32 serial);

#endif
