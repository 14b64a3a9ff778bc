/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_ENGINE_OS_MLOCK_H
#define ADEPT_ENGINE_OS_MLOCK_H

#include "libdep/engine/base/runtime.h"

/**
 * mlock_syscall() - make mlock, mlock2, munlock, mlockall, munlockall on the program's memory only
 */
s64 mlock_syscall(struct tls *t, u64 nr, const u64 args[6]);
/** mlock_forked() - called in a forked child, which inherits no memory locks */
void mlock_forked(void);

#endif
