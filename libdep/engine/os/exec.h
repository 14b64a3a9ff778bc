/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_ENGINE_OS_EXEC_H
#define ADEPT_ENGINE_OS_EXEC_H

#include "libdep/engine/base/runtime.h"

/** exec_syscall() - make the application's execve or execveat; returns only if it fails */
s64 exec_syscall(struct tls *t, u64 nr, u64 args[6]);
/**
 * exec_vfork_done() - release the execve request of vfork child @tid, which no longer shares memory
 */
void exec_vfork_done(u32 tid);
/** exec_process_init() - initialise the state of execve, after the process got its slot */
void exec_process_init(void);

#endif
