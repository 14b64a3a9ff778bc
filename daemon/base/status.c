// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of session states and storage stages in the control protocol and in metrics.
 */
#include "status.h"

static const char *const states[SESSION_STATES] = {
	[SESSION_OPEN] = "open", [SESSION_RECORDING] = "recording",
	[SESSION_ENDING] = "ending", [SESSION_ENDED] = "ended",
};

static const char *const stages[STAGES] = {
	[STAGE_COPY] = "copy", [STAGE_PACK] = "pack", [STAGE_WRITE] = "write",
};

const char *session_state_name(enum session_state s)
{
	return s < SESSION_STATES ? states[s] : "?";
}

const char *session_cause_name(enum dep_close_cause c)
{
	return c == DEP_CLOSE_UNKNOWN ? "none" : dep_close_cause_name(c);
}

const char *depd_stage_name(enum depd_stage s)
{
	return s < STAGES ? stages[s] : "?";
}
