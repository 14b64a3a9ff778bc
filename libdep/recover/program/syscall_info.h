/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Properties of system calls that follow from their numbers. */
#ifndef ADEPT_RECOVER_PROGRAM_SYSCALL_INFO_H
#define ADEPT_RECOVER_PROGRAM_SYSCALL_INFO_H

#include <stdbool.h>

#include "libdep/abi/types.h"

/**
 * dep_call_receives() - does the call read from a descriptor, its first argument?
 *
 * Such a call can be ordered after another thread.  It lets no other thread continue, and it does
 * not change mappings.
 */
bool dep_call_receives(u32 nr);

#endif
