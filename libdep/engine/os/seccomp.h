/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Seccomp filters of the program.  The engine makes system calls that the program does not; a
 * filter must not see these, or it would end the program for them.
 */
#ifndef ADEPT_ENGINE_OS_SECCOMP_H
#define ADEPT_ENGINE_OS_SECCOMP_H

#include "libdep/engine/base/runtime.h"

/** seccomp_install() - seccomp() or prctl(PR_SET_SECCOMP): the engine's calls are let through */
s64 seccomp_install(struct tls *t, u64 nr, const u64 a[6]);
/** seccomp_strict() - the thread, in strict mode, makes call @nr: does not return if it may not */
void seccomp_strict(struct tls *t, u64 nr);
/**
 * seccomp_check() - may the program make call @nr, which the engine does in its place?
 *
 * For calls of @args that change nothing.  Return: 0, or what the filter answers.
 */
s64 seccomp_check(u64 nr, u64 a, u64 b, u64 c, u64 d);
/** filtered_syscall() - make a call in the program's name; gate.S */
s64 filtered_syscall(u64 nr, const u64 args[6]);

#endif
