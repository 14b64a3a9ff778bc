/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Restart codes of the kernel: results of system calls that a stop or a signal has interrupted.  A
 * program never sees them, a tracer does.
 */
#ifndef ADEPT_ABI_RESTART_H
#define ADEPT_ABI_RESTART_H

#include "types.h"

#define ADEPT_RESTARTSYS	512	/* made again, unless a handler without SA_RESTART runs */
#define ADEPT_RESTARTNOINTR	513	/* always made again */
#define ADEPT_RESTARTNOHAND	514	/* made again, unless a handler runs */
#define ADEPT_RESTART_BLOCK	516	/* continued by restart_syscall, unless a handler runs */

static inline int adept_is_restart(s64 code)
{
	return code == -ADEPT_RESTARTSYS || code == -ADEPT_RESTARTNOINTR ||
	       code == -ADEPT_RESTARTNOHAND || code == -ADEPT_RESTART_BLOCK;
}

#endif
