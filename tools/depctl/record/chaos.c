// SPDX-License-Identifier: GPL-2.0-or-later
/* Parse the environment variable DEP_CHAOS, which selects chaos modes of the engine for tests. */
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "record.h"

static const struct {
	const char *name;
	uint32_t flag;
} modes[] = {
	{ "short", ADEPT_S_CHAOS_SHORT },
	{ "versions", ADEPT_S_CHAOS_VERSIONS },
	{ "miss", ADEPT_S_CHAOS_MISS },
	{ "flush", ADEPT_S_CHAOS_FLUSH },
	{ "stop", ADEPT_S_CHAOS_STOP },
};

static uint32_t mode_flag(const char *name, size_t n)
{
	size_t i;

	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strlen(modes[i].name) == n && !memcmp(modes[i].name, name, n))
			return modes[i].flag;
	return n == 3 && !memcmp(name, "all", n) ? ADEPT_S_CHAOS_ALL : 0;
}

uint32_t engine_chaos_flags(struct argp_state *state, uint32_t *seed)
{
	const char *at = getenv("DEP_CHAOS"), *colon;
	uint32_t flag, flags = 0;
	size_t n;

	colon = at ? strchr(at, ':') : NULL;
	*seed = 1;
	if (colon)
		*seed = (uint32_t)parse_number(state, "the seed of DEP_CHAOS", colon + 1, 1,
					       UINT32_MAX);
	for (; at && *at && at != colon; at += n + (at[n] == ',')) {
		n = strcspn(at, ",:");
		flag = mode_flag(at, n);
		if (!flag)
			argp_error(state, "DEP_CHAOS: there is no mode '%.*s'; give a list of "
				   "short, versions, miss, flush, stop or all, separated by "
				   "commas, and a seed behind a colon", (int)n, at);
		flags |= flag;
	}
	return flags;
}
