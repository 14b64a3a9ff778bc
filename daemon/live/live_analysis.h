/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Live analysis: race detection while a session is recorded.
 *
 * Each analysis is a process `depctl query races` with the rights of the session's user.  Suspected
 * races are logged; the report is written into the store.
 */
#ifndef DEPD_LIVE_LIVE_ANALYSIS_H
#define DEPD_LIVE_LIVE_ANALYSIS_H

#include "daemon/sessions/session.h"

#define LIVE_REPORT	"races.txt"	/* name of the report in the store */

/** live_analysis_begin() - start race detection for @s if configured and possible; logs errors */
void live_analysis_begin(struct session *s);
/** live_analysis_session_ended() - notify race detection for @s that the store is complete */
void live_analysis_session_ended(struct session *s);

#endif
