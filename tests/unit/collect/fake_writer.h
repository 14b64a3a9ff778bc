/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A dep_writer that stores nothing and checks everything: each record of a thread must arrive once,
 * in order, and after the descriptor of its id.
 */
#ifndef TESTS_UNIT_COLLECT_FAKE_WRITER_H
#define TESTS_UNIT_COLLECT_FAKE_WRITER_H

#include <dep/store.h>

#include "libdep/abi/session_file.h"

#define FAKE_MAX_THREADS 20000u

struct dep_writer {
	u64 next[FAKE_MAX_THREADS];	/* by serial: value expected */
	u64 first_missing[FAKE_MAX_THREADS];
	u8 begun[FAKE_MAX_THREADS], ended[FAKE_MAX_THREADS];
	u8 known_id[1u << 20];
	u64 segments, bytes, records, descriptors, notes, gaps, null_bytes, flushes;
	u32 threads, processes, threads_ended, processes_ended, closed;
	u64 errors;
	const char *error;	/* the first one */
	/* behaviour */
	int fail_with;		/* errno for segments.. */
	u64 fail_after;		/* ..after so many */
	unsigned int delay_us;	/* per segment */
	const u64 *hold;	/* wait until this is not 0 before storing; at most 20 s */
	bool strict;		/* no gaps allowed */
	bool hostile;		/* anything may come */
};

#endif
