/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions that are searched for data races while they are recorded: each by a process of its
 * own, depctl's, with the rights of the session's user.  What it suspects is logged, its report
 * is in the store.
 */
#ifndef DEPD_LIVE_LIVE_ANALYSIS_H
#define DEPD_LIVE_LIVE_ANALYSIS_H

#include "daemon/sessions/session.h"

#define LIVE_REPORT	"races.txt"	/* in the store */

/** live_analysis_begin() - of @s, if it is configured and has a store; says why if it cannot */
void live_analysis_begin(struct session *s);
/**
 * live_analysis_session_ended() - @s is stored as far as it will ever be: its report can be made
 */
void live_analysis_session_ended(struct session *s);

#endif
