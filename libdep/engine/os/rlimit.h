/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory limits: RLIMIT_DATA and RLIMIT_AS.
 *
 * The engine's memory counts against these limits.  The kernel's limits are therefore the program's
 * limits plus the engine's share, which grows with the engine's memory.  getrlimit and prlimit
 * return the program's limits.
 */
#ifndef ADEPT_ENGINE_OS_RLIMIT_H
#define ADEPT_ENGINE_OS_RLIMIT_H

#include "libdep/engine/base/runtime.h"

/**
 * rlimit_init() - raise the limits of the image by the engine's share
 *
 * Return: 0 if that is not permitted; the program must then run natively.
 */
int rlimit_init(void);
/** rlimit_is_tight() - whether the engine must allocate early, before the program uses the limit */
int rlimit_is_tight(void);
/** rlimit_is_finite() - whether there is or was a limit */
int rlimit_is_finite(void);
/**
 * rlimit_grow() - raise the limits, before the engine takes more memory
 * @data: bytes that will be made accessible
 * @mapped: bytes that will be mapped
 */
void rlimit_grow(u64 data, u64 mapped);
/** rlimit_shrink() - undo rlimit_grow() for @bytes that were not mapped */
void rlimit_shrink(u64 bytes);
/* The program's system calls; -errno or the result. */
s64 rlimit_syscall(struct tls *t, u64 nr, const u64 a[6]);
/**
 * rlimit_exec_begin() - set the kernel's limits to the program's, which the new image inherits
 * @finally: execve will probably succeed, so the hard limits can be lowered as well
 *
 * If execve fails and the hard limits cannot be raised again, the program gets less memory than its
 * limits allow.
 *
 * Return: the argument of rlimit_exec_failed().
 */
u32 rlimit_exec_begin(int finally);
void rlimit_exec_failed(u32 lowered);
/** rlimit_lock_for_fork() - hold (1) or release (0) the lock around fork */
void rlimit_lock_for_fork(int hold);

#endif
