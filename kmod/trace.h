/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM adept

#if !defined(ADEPT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define ADEPT_TRACE_H

#include <linux/tracepoint.h>

#include "adept.h"

#define ADEPT_SHOW_CAUSE(c)			\
	__print_flags(c, "|",			\
		{ ADEPT_LOSS_FULL, "full" },	\
		{ ADEPT_LOSS_NO_CONSUMER, "no-consumer" }, \
		{ ADEPT_LOSS_DISCARD, "discard" }, \
		{ ADEPT_LOSS_RESET, "reset" })

/* Trace event: a store faulted in the gap after a chunk, or on a page that is not mapped. */
TRACE_EVENT(adept_fault,
	TP_PROTO(const struct adept_session *s, const struct adept_place *at, u64 r15,
		 unsigned int flags),
	TP_ARGS(s, at, r15, flags),
	TP_STRUCT__entry(
		__field(u64, session)
		__field(u32, slot)
		__field(u32, chunk)
		__field(u64, off)
		__field(u64, r15)
		__field(unsigned int, flags)
	),
	TP_fast_assign(
		__entry->session = s->id;
		__entry->slot = at->slot;
		__entry->chunk = at->chunk;
		__entry->off = at->off;
		__entry->r15 = r15;
		__entry->flags = flags;
	),
	TP_printk("session=%llu slot=%u chunk=%u off=%#llx r15=%#llx flags=%#x",
		  __entry->session, __entry->slot, __entry->chunk, __entry->off, __entry->r15,
		  __entry->flags)
);

/* Trace events for changes of a chunk's state. */
DECLARE_EVENT_CLASS(adept_chunk,
	TP_PROTO(const struct adept_session *s, const struct adept_ring *r, u32 chunk, u64 seq),
	TP_ARGS(s, r, chunk, seq),
	TP_STRUCT__entry(
		__field(u64, session)
		__field(u32, slot)
		__field(u32, ring)
		__field(u32, chunk)
		__field(u64, seq)
	),
	TP_fast_assign(
		__entry->session = s->id;
		__entry->slot = r->slot;
		__entry->ring = r->id;
		__entry->chunk = chunk;
		__entry->seq = seq;
	),
	TP_printk("session=%llu slot=%u ring=%u chunk=%u seq=%llu", __entry->session,
		  __entry->slot, __entry->ring, __entry->chunk, __entry->seq)
);

DEFINE_EVENT(adept_chunk, adept_publish,
	TP_PROTO(const struct adept_session *s, const struct adept_ring *r, u32 chunk, u64 seq),
	TP_ARGS(s, r, chunk, seq)
);

DEFINE_EVENT(adept_chunk, adept_take,
	TP_PROTO(const struct adept_session *s, const struct adept_ring *r, u32 chunk, u64 seq),
	TP_ARGS(s, r, chunk, seq)
);

DEFINE_EVENT(adept_chunk, adept_give,
	TP_PROTO(const struct adept_session *s, const struct adept_ring *r, u32 chunk, u64 seq),
	TP_ARGS(s, r, chunk, seq)
);

DEFINE_EVENT(adept_chunk, adept_wait,
	TP_PROTO(const struct adept_session *s, const struct adept_ring *r, u32 chunk, u64 seq),
	TP_ARGS(s, r, chunk, seq)
);

TRACE_EVENT(adept_drop,
	TP_PROTO(const struct adept_session *s, const struct adept_ring *r, u64 bytes,
		 u32 cause),
	TP_ARGS(s, r, bytes, cause),
	TP_STRUCT__entry(
		__field(u64, session)
		__field(u32, slot)
		__field(u32, ring)
		__field(u64, bytes)
		__field(u32, cause)
	),
	TP_fast_assign(
		__entry->session = s->id;
		__entry->slot = r->slot;
		__entry->ring = r->id;
		__entry->bytes = bytes;
		__entry->cause = cause;
	),
	TP_printk("session=%llu slot=%u ring=%u bytes=%llu cause=%s", __entry->session,
		  __entry->slot, __entry->ring, __entry->bytes,
		  ADEPT_SHOW_CAUSE(__entry->cause))
);

/* Trace event: a ring changes its state (enum adept_ring_state). */
TRACE_EVENT(adept_ring,
	TP_PROTO(const struct adept_session *s, const struct adept_ring *r, u32 state),
	TP_ARGS(s, r, state),
	TP_STRUCT__entry(
		__field(u64, session)
		__field(u32, slot)
		__field(u32, ring)
		__field(u32, state)
	),
	TP_fast_assign(
		__entry->session = s->id;
		__entry->slot = r->slot;
		__entry->ring = r->id;
		__entry->state = state;
	),
	TP_printk("session=%llu slot=%u ring=%u state=%s", __entry->session, __entry->slot,
		  __entry->ring,
		  __print_symbolic(__entry->state,
			{ ADEPT_RING_NONE, "none" },
			{ ADEPT_RING_LIVE, "live" },
			{ ADEPT_RING_ENDED, "ended" },
			{ ADEPT_RING_DEAD, "dead" }))
);

/* Trace event: a session is created, orphaned, closed, adopted, given up or destroyed. */
TRACE_EVENT(adept_session,
	TP_PROTO(const struct adept_session *s, const char *what),
	TP_ARGS(s, what),
	TP_STRUCT__entry(
		__field(u64, session)
		__array(char, what, 12)
	),
	TP_fast_assign(
		__entry->session = s->id;
		strscpy(__entry->what, what, sizeof(__entry->what));
	),
	TP_printk("session=%llu %s", __entry->session, __entry->what)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
