// SPDX-License-Identifier: LGPL-2.1-or-later
#include <sys/wait.h>
#include <time.h>

#include "kept_now.h"

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct dep_kept dep_kept_now(uint32_t reason)
{
	return (struct dep_kept){
		.reason = reason, .at_ns = clock_ns(CLOCK_MONOTONIC),
		.realtime_ns = clock_ns(CLOCK_REALTIME),
	};
}

struct dep_kept dep_kept_ended(int status)
{
	struct dep_kept kept = dep_kept_now(DEP_KEEP_ENDED);

	if (status >= 0 && WIFEXITED(status)) {
		kept.reason = DEP_KEEP_EXIT;
		kept.value = (uint64_t)WEXITSTATUS(status);
	} else if (status >= 0 && WIFSIGNALED(status)) {
		kept.reason = DEP_KEEP_SIGNAL;
		kept.value = (uint64_t)WTERMSIG(status);
	}
	return kept;
}
