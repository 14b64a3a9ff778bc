/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory limits: RLIMIT_DATA and RLIMIT_AS.
 *
 * The engine's memory counts against these limits.  The kernel's limits are therefore the program's
 * limits plus the engine's share, which grows with the engine's memory.  getrlimit and prlimit
 * return the program's limits.
 */
#ifndef ADEPT_ENGINE_BASE_RLIMIT_H
#define ADEPT_ENGINE_BASE_RLIMIT_H

#include "runtime.h"

/** struct rlimit_pair - a soft and a hard limit, laid out as struct rlimit64 of the kernel */
struct rlimit_pair {
	u64 soft, hard;
};

/**
 * rlimit_init() - raise the process's memory limits by the engine's share
 * @later: bytes that the engine may map later, besides its heap
 *
 * Return: 0 if this is not permitted; the program must then run natively.
 */
int rlimit_init(u64 later);
/**
 * rlimit_is_tight() - whether a limit could not be raised: the engine must allocate memory early
 */
int rlimit_is_tight(void);
/** rlimit_is_finite() - whether one of the two memory limits is or was set */
int rlimit_is_finite(void);
/**
 * rlimit_grow() - raise the kernel's limits before the engine takes more memory
 * @data: bytes that will be made accessible
 * @mapped: bytes that will be mapped
 */
void rlimit_grow(u64 data, u64 mapped);
/** rlimit_shrink() - undo rlimit_grow() for @bytes that were not mapped */
void rlimit_shrink(u64 bytes);
/** rlimit_is_ours() - whether the engine has a share of the limit of @resource */
int rlimit_is_ours(u64 resource);
/**
 * rlimit_change() - read or change a limit of the program, for a @resource of rlimit_is_ours()
 * @nr: the program's system call, which its seccomp filter checks
 * @to: new limits of the program, or NULL
 * @old: receives the program's limits from before the call
 *
 * Return: 0 or a negative errno.
 */
s64 rlimit_change(u64 resource, u64 nr, const struct rlimit_pair *to, struct rlimit_pair *old);
/**
 * rlimit_exec_begin() - before execve: set the kernel's limits to the program's
 * @finally: execve will probably succeed, so the hard limits can be lowered as well
 *
 * The new image inherits these limits.  If execve fails and the hard limits cannot be raised again,
 * the program gets less memory than its limits permit.
 *
 * Return: the argument of rlimit_exec_failed().
 */
u32 rlimit_exec_begin(int finally);
void rlimit_exec_failed(u32 lowered);
/** rlimit_lock_for_fork() - hold (1) or release (0) the lock of the memory limits around fork */
void rlimit_lock_for_fork(int hold);

#endif
