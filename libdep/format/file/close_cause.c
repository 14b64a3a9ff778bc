// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dep/store.h"

static const char *const causes[DEP_CLOSE_CAUSES] = {
	[DEP_CLOSE_UNKNOWN] = "unknown", [DEP_CLOSE_ENDED] = "programs_ended",
	[DEP_CLOSE_STOPPED] = "stopped", [DEP_CLOSE_SHUTDOWN] = "shutdown",
	[DEP_CLOSE_MAX_SIZE] = "max_size", [DEP_CLOSE_FAILED] = "store_failed",
	[DEP_CLOSE_CORRUPT] = "corrupt", [DEP_CLOSE_LOST] = "recorder_lost",
	[DEP_CLOSE_ABANDONED] = "abandoned",
};

const char *dep_close_cause_name(enum dep_close_cause cause)
{
	return (unsigned int)cause < DEP_CLOSE_CAUSES ? causes[cause] : causes[0];
}
