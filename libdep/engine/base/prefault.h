/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Page faults taken together.
 *
 * The first touches of the engine's pages, one fault each, are most of what a short process costs.
 * Where a range is filled from below, the next pages are certain to be needed.  Asking the kernel
 * for sixteen of them in one call takes as long as one or two faults.
 */
#ifndef ADEPT_ENGINE_BASE_PREFAULT_H
#define ADEPT_ENGINE_BASE_PREFAULT_H

#include "runtime.h"

#define PREFAULT_SIZE	(64ull << 10)

/**
 * prefault() - populate the pages of [@begin, @end), which are about to be written
 *
 * Kernels before 5.14, and mappings that cannot be populated, leave them to be faulted in.
 */
static inline void prefault(u64 begin, u64 end)
{
	begin &= ~(u64)(ADEPT_PAGE - 1);
	sys3(__NR_madvise, begin, ALIGN_UP(end, ADEPT_PAGE) - begin, K_MADV_POPULATE_WRITE);
}

/**
 * prefault_ahead() - populate ahead of a range that is filled from below
 * @ready: up to where that was done before
 * @begin: first byte that is going to be written
 * @end: end of what is going to be written
 * @limit: end of the memory that may be populated
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
