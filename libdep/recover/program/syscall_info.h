/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is known of system calls by their numbers alone. */
#ifndef ADEPT_RECOVER_PROGRAM_SYSCALL_INFO_H
#define ADEPT_RECOVER_PROGRAM_SYSCALL_INFO_H

#include <stdbool.h>

#include "libdep/abi/types.h"

/**
 * dep_call_receives() - does it take from its first argument, a descriptor, what others gave?
 *
 * So it can be ordered after them, but lets nobody go on, and leaves what memory there is.
 */
bool dep_call_receives(u32 nr);

#endif
