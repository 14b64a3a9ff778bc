// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dep/store.h"

const char *dep_keep_name(uint32_t reason)
{
	static const char *const names[DEP_KEEP_REASONS] = {
		"unknown", "ended", "exit", "signal", "asked", "call", "slow_call",
		"long_call", "perf_event",
	};

	return names[reason < DEP_KEEP_REASONS ? reason : DEP_KEEP_UNKNOWN];
}
