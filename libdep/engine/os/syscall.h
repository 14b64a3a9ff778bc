/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_ENGINE_OS_SYSCALL_H
#define ADEPT_ENGINE_OS_SYSCALL_H

#include "libdep/engine/base/runtime.h"

/** app_syscall() - a system call of the application's; SYS_ABORTED if a signal came first */
s64 app_syscall(struct tls *t, u64 nr, const u64 args[6]);
/**
 * app_last_syscall() - one that ends all threads if it succeeds
 * @status: of their streams' ends
 */
s64 app_last_syscall(struct tls *t, u64 nr, const u64 args[6], u32 status);

#endif
