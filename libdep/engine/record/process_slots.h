/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_ENGINE_RECORD_PROCESS_SLOTS_H
#define ADEPT_ENGINE_RECORD_PROCESS_SLOTS_H

#include "libdep/engine/base/runtime.h"

/** process_slot_claim() - claim a process slot.  Return: its index or NO_SLOT */
u32 process_slot_claim(void);
/** process_slot_take() - claim a slot for this new process; waits while one may become free soon */
void process_slot_take(u32 cause, u32 parent);
/** process_slot_wait() - wait for a free process slot while one may become free soon */
void process_slot_wait(void);
/** process_without_slot() - which counter counts a process or image that gets no slot */
enum adept_native process_without_slot(void);
/**
 * process_exec_slot() - claim a slot for a process without a slot, to request an execve
 *
 * Afterwards the process is no longer counted as lost, but its threads still are.
 *
 * Return: NULL if no slot is free.
 */
struct adept_proc *process_exec_slot(void);

#endif
