/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Limits of memory: RLIMIT_DATA and RLIMIT_AS.
 *
 * The engine's memory counts against them.  So that the program gets what they allow in full, the
 * kernel's limits are those of the program plus what the engine has, and a little more when the
 * engine takes more.  The program sees its own.
 */
#ifndef ADEPT_ENGINE_OS_RLIMIT_H
#define ADEPT_ENGINE_OS_RLIMIT_H

#include "libdep/engine/base/runtime.h"

/**
 * rlimit_init() - make room for the engine in the limits that the image began with
 *
 * Return: 0 if that is not permitted: the program must run natively, or would get less.
 */
int rlimit_init(void);
/** rlimit_is_tight() - the program may use up what the engine needs later, so take it now */
int rlimit_is_tight(void);
/** rlimit_is_finite() - there is a limit, or was */
int rlimit_is_finite(void);
/** rlimit_grow() - the engine is about to make @bytes more accessible, or to map them */
void rlimit_grow(u64 data, u64 mapped);
/** rlimit_shrink() - @bytes that rlimit_grow() was called for were not mapped */
void rlimit_shrink(u64 bytes);
/* The program's system calls; -errno or the result. */
s64 rlimit_syscall(struct tls *t, u64 nr, const u64 a[6]);
/**
 * rlimit_exec_begin() - before execve: the image that comes has the program's limits
 * @finally: execve will probably not fail
 *
 * If execve fails nevertheless, and the hard limits cannot be raised again, then the program has
 * less memory than its limits say.
 *
 * Return: what rlimit_exec_failed() needs.
 */
u32 rlimit_exec_begin(int finally);
void rlimit_exec_failed(u32 lowered);
/** rlimit_lock_for_fork() - hold (1) or release (0) the lock around fork */
void rlimit_lock_for_fork(int hold);

#endif
