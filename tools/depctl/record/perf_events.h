/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option --on-perf: events of the kernel that make a snapshot. */
#ifndef DEPCTL_RECORD_PERF_EVENTS_H
#define DEPCTL_RECORD_PERF_EVENTS_H

#include "record.h"

/** struct perf_counters - open counters of the recorded process, and the threads it starts */
struct perf_counters {
	const struct record_options *o;
	struct perf_counter {
		uint32_t event;		/* index in o->perf */
		int fd;
	} *counter;
	uint32_t n;
	uint64_t reached[PERF_EVENTS];	/* multiple of the period that was reported */
};

/** perf_begin() - count the events of process @pid; says what is not possible */
void perf_begin(struct perf_counters *p, pid_t pid);
/** perf_reached() - true if an event has been counted period times again */
bool perf_reached(struct perf_counters *p, struct dep_kept *kept);
void perf_end(struct perf_counters *p);

#endif
