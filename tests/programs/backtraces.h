/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file that backtraces.c writes and backtraces_check.c reads. */
#ifndef BACKTRACES_H
#define BACKTRACES_H

#include <stdint.h>

#define BACKTRACES_FRAMES	252u
#define BACKTRACES_NOTES	8192u

enum backtrace_kind {
	BACKTRACE_NONE,		/* the handler did not end */
	BACKTRACE_WHOLE,
	/* The last address is in code without unwind tables, so there may be more frames. */
	BACKTRACE_NO_TABLES,
	/* The unwinder was interrupted: no addresses. */
	BACKTRACE_IN_UNWINDER,
	/* The same, but rsp is already that of the frame with the handler of the exception. */
	BACKTRACE_UNWOUND,
};

/**
 * struct backtrace_note - what backtrace() returned in the handler of SIGPROF
 * @number: of the signal in its thread, from 0
 * @n: number of addresses
 * @kind: enum backtrace_kind
 * @pc: [0] is in the handler, [1] is where the handler returns to, [2] is the interrupted
 *	instruction, the others are return addresses
 */
struct backtrace_note {
	uint32_t tid, number, n, kind;
	uint64_t pc[BACKTRACES_FRAMES];
};

/** struct backtraces - the file; the first @used notes are used, but only those that exist */
struct backtraces {
	uint64_t used;
	struct backtrace_note note[BACKTRACES_NOTES];
};

#endif
