/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The option --on-perf of a recording through depd.
 *
 * A process of depctl counts, with the user's own rights: a process of root's depd may not use
 * perf_event_open(2).  It tells depd when an event was counted often enough.  It goes on if depctl
 * ends (--background) and ends with the session.
 */
#ifndef DEPCTL_RECORD_PERF_DEPD_H
#define DEPCTL_RECORD_PERF_DEPD_H

#include "record.h"

/**
 * perf_begin_depd() - start to count the events of process @pid, if any are to be counted
 * @socket: path of depd's socket
 *
 * Returns when the counters are open, after a message for each that cannot be.
 */
void perf_begin_depd(const struct record_options *o, const char *socket, uint32_t session,
		     pid_t pid);

#endif
