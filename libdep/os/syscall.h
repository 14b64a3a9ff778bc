/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_OS_SYSCALL_H
#define ADEPT_OS_SYSCALL_H

#include "../blob/rt.h"

/* gate.S */
s64 app_syscall(struct tls *t, u64 nr, const u64 args[6]);

#endif
