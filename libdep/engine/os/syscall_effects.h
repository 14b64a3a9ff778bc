/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What system calls were told, or tell, that is not in their arguments. */
#ifndef ADEPT_ENGINE_OS_SYSCALL_EFFECTS_H
#define ADEPT_ENGINE_OS_SYSCALL_EFFECTS_H

#include "libdep/abi/stream.h"
#include "libdep/engine/base/runtime.h"

/**
 * syscall_effects_record() - events for what @c, which returned, had in memory or in a descriptor
 *
 * Buffers that it found in vectors or messages, and what it mapped for several processes.
 * It is looked at after the call: by then its caller may not have changed it, or it is a race.
 */
void syscall_effects_record(struct tls *t, const struct adept_ev_syscall *c);

#endif
