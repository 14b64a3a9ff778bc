/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Seccomp filters of the program.  The engine makes system calls of its own, which must pass the
 * filter; otherwise the filter would end the program.
 */
#ifndef ADEPT_ENGINE_OS_SECCOMP_H
#define ADEPT_ENGINE_OS_SECCOMP_H

#include "libdep/engine/base/runtime.h"

/** seccomp_install() - seccomp() or prctl(PR_SET_SECCOMP), with a filter that passes our calls */
s64 seccomp_install(struct tls *t, u64 nr, const u64 a[6]);
/** seccomp_strict() - strict mode: end the thread if it is not permitted to make call @nr */
void seccomp_strict(struct tls *t, u64 nr);
/**
 * seccomp_check() - ask the program's filter about a call that the engine emulates
 *
 * Makes the call, so its arguments must be such that it changes nothing.
 *
 * Return: 0 if the filter permits the call, or the filter's result.
 */
s64 seccomp_check(u64 nr, u64 a, u64 b, u64 c, u64 d);

#endif
