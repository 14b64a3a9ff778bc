/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * System call effects: inputs and results of a system call that are not in its arguments, but in
 * memory or the kernel.
 */
#ifndef ADEPT_ENGINE_OS_SYSCALL_EFFECTS_H
#define ADEPT_ENGINE_OS_SYSCALL_EFFECTS_H

#include "libdep/abi/stream.h"
#include "libdep/engine/base/runtime.h"

/**
 * syscall_effects_record() - append events for buffers and shared mappings of call @c, which
 * returned
 *
 * The buffers are those of I/O vectors and messages.  They are read after the call.  A program that
 * changes them during the call has a race.
 */
void syscall_effects_record(struct tls *t, const struct adept_ev_syscall *c);

#endif
