/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Seccomp filters of the program.  The engine makes system calls of its own, which must pass the
 * filter; otherwise the filter would end the program.
 */
#ifndef ADEPT_ENGINE_OS_SECCOMP_H
#define ADEPT_ENGINE_OS_SECCOMP_H

#include "libdep/engine/base/runtime.h"

/**
 * seccomp_install() - make seccomp() or prctl(PR_SET_SECCOMP), keeping the engine's calls permitted
 */
s64 seccomp_install(struct tls *t, u64 nr, const u64 a[6]);
/** seccomp_strict() - in seccomp's strict mode: end the thread if call @nr is forbidden */
void seccomp_strict(struct tls *t, u64 nr);
/**
 * seccomp_check() - check a call that the engine emulates against the program's filter
 *
 * Makes the call, so the caller must pass arguments with which the call has no effect.
 *
 * Return: 0 if the filter permits the call, or the filter's result.
 */
s64 seccomp_check(u64 nr, u64 a, u64 b, u64 c, u64 d);

#endif
