/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_ENGINE_OS_RLIMIT_SYSCALL_H
#define ADEPT_ENGINE_OS_RLIMIT_SYSCALL_H

#include "libdep/engine/base/runtime.h"

/** rlimit_syscall() - emulate getrlimit, setrlimit, prlimit64.  Return: the result or -errno */
s64 rlimit_syscall(struct tls *t, u64 nr, const u64 a[6]);

#endif
