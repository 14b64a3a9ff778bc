/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Properties of system calls, by system call number. */
#ifndef ADEPT_RECOVER_PROGRAM_SYSCALL_INFO_H
#define ADEPT_RECOVER_PROGRAM_SYSCALL_INFO_H

#include <stdbool.h>

#include "libdep/abi/types.h"

/**
 * dep_call_receives() - true for a system call that reads from the descriptor in its first argument
 *
 * Such a call can make its thread wait for another thread (acquire).  It never lets another thread
 * continue (no release), and does not change mappings.
 */
bool dep_call_receives(u32 nr);

#endif
