/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_ENGINE_OS_EXEC_H
#define ADEPT_ENGINE_OS_EXEC_H

#include "libdep/engine/base/runtime.h"

/** exec_syscall() - execve and execveat; returns only if they fail */
s64 exec_syscall(struct tls *t, u64 nr, u64 args[6]);
/** exec_vfork_done() - the vfork child @tid is gone: what it held of exec's state is free */
void exec_vfork_done(u32 tid);
/**
 * exec_process_init() - a process has its slot
 *
 * In a forked child: what its parent's other threads were doing is not its own.
 */
void exec_process_init(void);

#endif
