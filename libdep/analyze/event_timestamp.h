/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The timestamp of a recorded event, by which the merge orders threads. */
#ifndef ADEPT_ANALYZE_EVENT_TIMESTAMP_H
#define ADEPT_ANALYZE_EVENT_TIMESTAMP_H

#include "dep/analyze.h"
#include "libdep/abi/stream.h"

/**
 * dep_event_timestamp() - get the timestamp of an event, or 0
 *
 * Of a system call: the one before the call with DEP_EV_ENTER, the one after the call otherwise.
 */
static inline uint64_t dep_event_timestamp(const struct dep_event *e)
{
	const union {
		struct adept_ev_syscall call;
		struct adept_ev_start start;
		struct adept_ev_end end;
		struct adept_ev_fork fork;
		struct adept_ev_signal sig;
		struct adept_ev_attach attach;
		struct adept_ev_detach detach;
	} *p = e->payload;

	switch (e->id) {
	case ADEPT_EV_SYSCALL:
		return p->call.after;
	case ADEPT_EV_SYSCALL | DEP_EV_ENTER:
		return p->call.before;
	case ADEPT_EV_THREAD_START:
		return p->start.timestamp;
	case ADEPT_EV_THREAD_END:
		return p->end.timestamp;
	case ADEPT_EV_FORK:
		return p->fork.before;
	case ADEPT_EV_ATTACH:
		return p->attach.timestamp;
	case ADEPT_EV_DETACH:
		return p->detach.timestamp;
	case ADEPT_EV_SIGNAL:
		return p->sig.timestamp;
	}
	return 0;
}

#endif
