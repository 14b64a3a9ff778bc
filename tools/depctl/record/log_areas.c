// SPDX-License-Identifier: GPL-2.0-or-later
/* Parse the environment variable DEP_LOG, which selects areas of the engine's log. */
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "record.h"

static uint32_t area_flag(const char *name, size_t n)
{
	const char *known;
	uint32_t area;

	for (area = 0; area < ADEPT_LOG_AREAS; area++) {
		known = adept_log_area_name(area);
		if (strlen(known) == n && !memcmp(known, name, n))
			return ADEPT_S_LOG(area);
	}
	return n == 3 && !memcmp(name, "all", n) ? ADEPT_S_LOG_ALL : 0;
}

uint32_t engine_log_flags(struct argp_state *state)
{
	const char *at = getenv("DEP_LOG");
	uint32_t flag, flags = 0;
	size_t n;

	for (; at && *at; at += n + (at[n] == ',')) {
		n = strcspn(at, ",");
		flag = area_flag(at, n);
		if (!flag)
			argp_error(state, "DEP_LOG: there is no area '%.*s'; give a list of "
				   "translate, signal, thread, exec, memory or all, separated by "
				   "commas", (int)n, at);
		flags |= flag;
	}
	return flags;
}
