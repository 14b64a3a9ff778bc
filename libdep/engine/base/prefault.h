/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Populate pages ahead of use.
 *
 * Page faults on the engine's own memory are most of the cost of recording a short process.  In a
 * range that is filled from low to high addresses, the next pages will certainly be needed, and one
 * system call that populates sixteen pages takes as long as one or two faults.
 */
#ifndef ADEPT_ENGINE_BASE_PREFAULT_H
#define ADEPT_ENGINE_BASE_PREFAULT_H

#include "runtime.h"

#define PREFAULT_SIZE	(64ull << 10)

/**
 * prefault() - populate the pages of [@begin, @end), which are about to be written
 *
 * If this fails (kernels before 5.14, mappings that cannot be populated), the pages are faulted in
 * as usual.
 */
static inline void prefault(u64 begin, u64 end)
{
	begin &= ~(u64)(ADEPT_PAGE - 1);
	sys3(__NR_madvise, begin, ALIGN_UP(end, ADEPT_PAGE) - begin, K_MADV_POPULATE_WRITE);
}

/**
 * prefault_ahead() - populate the next pages of a range that is filled from low to high addresses
 * @ready: in, out: end of the populated part
 * @begin: first byte that will be written
 * @end: end of the bytes that will be written
 * @limit: end of the memory that may be populated
 *
 * Populates up to the next multiple of PREFAULT_SIZE.
 */
static inline void prefault_ahead(u64 *ready, u64 begin, u64 end, u64 limit)
{
	u64 to = ALIGN_UP(end, PREFAULT_SIZE);

	if (end <= *ready)
		return;
	if (begin < *ready)
		begin = *ready;
	if (to > limit)
		to = limit;
	if (begin < to)
		prefault(begin, to);
	*ready = to;
}

#endif
