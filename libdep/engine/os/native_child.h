/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Children that the session does not want (--children=no): forked ones run natively. */
#ifndef ADEPT_ENGINE_OS_NATIVE_CHILD_H
#define ADEPT_ENGINE_OS_NATIVE_CHILD_H

#include "libdep/engine/base/runtime.h"

/** children_wanted() - does the session record children of recorded processes? */
int children_wanted(void);
/** native_child_count() - count a child that is not recorded because none is wanted */
void native_child_count(void);
/**
 * native_child_leave() - in a forked child: leave the engine and remove it
 * @t: the only thread, about to return from the system call, with all signals blocked
 * @mask: the kernel's signal mask before they were blocked
 */
__attribute__((noreturn)) void native_child_leave(struct tls *t, u64 mask);

#endif
