// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For tests/install.sh, as C and as C++: everything that the public headers name can be used.
 * Prints "SYSCALLS OPENS SIGNALS THREADS REFS WRITES LAUNCHED" and how the recording ended.
 */
#include <dep/analyze.h>
#include <dep/events.h>
#include <dep/functions.h>
#include <dep/races.h>
#include <dep/recover.h>
#include <dep/session.h>
#include <dep/store.h>
#include <dep/symbols.h>
#include <dep/verdict.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

struct totals {
	unsigned int calls, opens, signals, threads, refs, writes;
};

static int add_event(struct totals *t, const struct dep_event *e)
{
	struct adept_ev_syscall call;
	struct adept_ev_start start;

	switch ((enum adept_event)e->id) {
	case ADEPT_EV_SYSCALL:
		if (e->size != sizeof(call))
			return -1;
		memcpy(&call, e->payload, sizeof(call));
		t->calls++;
		t->opens += call.nr == SYS_openat && (int64_t)call.result >= 0;
		break;
	case ADEPT_EV_SIGNAL:
		t->signals += e->size == sizeof(struct adept_ev_signal);
		break;
	case ADEPT_EV_THREAD_START:
		if (e->size != sizeof(start))
			return -1;
		memcpy(&start, e->payload, sizeof(start));
		t->threads += start.tid != 0;
		break;
	case ADEPT_EV_THREAD_END:
		if (e->size != sizeof(struct adept_ev_end))
			return -1;
		break;
	default:
		break;
	}
	return 0;
}

static int batch(void *arg, const struct dep_segment *seg, const struct dep_item *items, size_t n)
{
	struct totals *t = (struct totals *)arg;
	size_t i;

	(void)seg;
	for (i = 0; i < n; i++) {
		if (items[i].kind == DEP_ITEM_EVENT && add_event(t, &items[i].event))
			return -1;
		if (items[i].kind == DEP_ITEM_REF) {
			t->refs++;
			t->writes += !!(items[i].ref.type & DEP_WRITE);
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct dep_process *p;
	const struct dep_segment *seg;
	const struct dep_verdict *v;
	struct totals t;
	struct dep_sink sink;
	struct dep_store *s;
	size_t n, launched = 0;

	memset(&t, 0, sizeof(t));
	memset(&sink, 0, sizeof(sink));
	sink.want = DEP_WANT_EVENTS | DEP_WANT_REFS;
	sink.batch = batch;
	sink.arg = &t;
	if (argc != 2 || dep_store_open(&s, argv[1])) {
		fprintf(stderr, "%s\n", dep_error());
		return 1;
	}
	n = dep_store_segments(s, &seg);
	if (dep_recover(s, seg, n, &sink, NULL))
		return 1;
	for (n = dep_store_processes(s, &p); n > 0; n--, p++)
		launched += p->cause == ADEPT_BY_LAUNCH;
	v = dep_store_verdict(s);
	printf("%u %u %u %u %u %u %zu %s%s\n", t.calls, t.opens, t.signals, t.threads, t.refs,
	       t.writes, launched, v->cause == DEP_CLOSE_ENDED ? "ended" : "not ended",
	       dep_store_meta(s)->session_flags & ADEPT_S_NO_FUNCTIONS ? " no-functions" : "");
	dep_store_close(s);
	return 0;
}
