// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Metrics of depd and of open sessions as text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics_text.h"
#include "daemon/base/strbuf.h"
#include "daemon/base/utf8.h"

enum type { GAUGE, COUNTER, INFO };

static const char *const suffixes[] = { "", "_total", "_info" };
static const char *const types[] = { "gauge", "counter", "info" };
static const char *const classic_types[] = { "gauge", "counter", "gauge" };

/** struct metrics_out - the text, and the metric family that is being written */
struct metrics_out {
	struct strbuf t;
	enum metrics_format format;
	const char *name;
	enum type type;
};

/* Start a metric family: write TYPE, UNIT and HELP.  @unit: NULL, or the last part of @name. */
static void family(struct metrics_out *o, const char *name, enum type type, const char *unit,
		   const char *help)
{
	bool classic = o->format == METRICS_CLASSIC;
	const char *suffix = classic ? suffixes[type] : "";

	o->name = name;
	o->type = type;
	strbuf_printf(&o->t, "# TYPE %s%s %s\n", name, suffix,
		      classic ? classic_types[type] : types[type]);
	if (unit && !classic)
		strbuf_printf(&o->t, "# UNIT %s %s\n", name, unit);
	strbuf_printf(&o->t, "# HELP %s%s %s\n", name, suffix, help);
}

/* Write a label's value as UTF-8 on one line.  NULL counts as the empty string. */
static void put_label(struct strbuf *t, const char *s)
{
	unsigned int n;

	for (; s && *s; s += n ? n : 1) {
		n = utf8_length(s);
		if (n)
			strbuf_put(t, s, n);
		else if (*s == '\n')
			strbuf_str(t, "\\n");
		else if (*s == '"' || *s == '\\')
			strbuf_printf(t, "\\%c", *s);
		else if ((unsigned char)*s < 0x80)
			strbuf_put(t, s, 1);
		else
			strbuf_str(t, "\xef\xbf\xbd");	/* U+FFFD */
	}
}

static void begin_sample(struct metrics_out *o)
{
	strbuf_printf(&o->t, "%s%s", o->name, suffixes[o->type]);
}

static void whole(struct metrics_out *o, uint64_t v)
{
	begin_sample(o);
	strbuf_printf(&o->t, " %" PRIu64 "\n", v);
}

/* Write nanoseconds as seconds with a decimal point: exact, independent of the locale. */
static void put_seconds(struct strbuf *t, uint64_t ns)
{
	strbuf_printf(t, " %" PRIu64 ".%09u\n", ns / 1000000000, (unsigned int)(ns % 1000000000));
}

static void seconds(struct metrics_out *o, uint64_t ns)
{
	begin_sample(o);
	put_seconds(&o->t, ns);
}

/* Write a sample with one label, whose value needs no escapes. */
static void whole_of(struct metrics_out *o, const char *label, const char *value, uint64_t v)
{
	begin_sample(o);
	strbuf_printf(&o->t, "{%s=\"%s\"} %" PRIu64 "\n", label, value, v);
}

static void one(struct metrics_out *o, const char *name, enum type type, const char *unit,
		uint64_t v, const char *help)
{
	family(o, name, type, unit, help);
	whole(o, v);
}

/* ---- metrics of depd as a whole ---- */

static void put_self(struct metrics_out *o, const struct depd_info *d)
{
	family(o, "adept_build", INFO, NULL, "The version of depd.");
	begin_sample(o);
	strbuf_str(&o->t, "{version=\"");
	put_label(&o->t, d->version);
	strbuf_str(&o->t, "\"} 1\n");
	family(o, "adept_start_time_seconds", GAUGE, "seconds",
	       "Start time of depd, in seconds since 1970.");
	seconds(o, d->start_realtime_ns);
	family(o, "adept_cpu_seconds", COUNTER, "seconds", "Processor time of depd.");
	seconds(o, d->cpu_ns);
	one(o, "adept_resident_memory_bytes", GAUGE, "bytes", d->memory_bytes,
	    "Resident memory of depd.");
	one(o, "adept_clients", GAUGE, NULL, d->clients, "Clients of the control socket.");
	one(o, "adept_requests", COUNTER, NULL, d->requests, "Requests on the control socket.");
	one(o, "adept_requests_refused", COUNTER, NULL, d->requests_refused,
	    "Requests and clients that were refused.");
}

static void put_sessions(struct metrics_out *o, const struct depd_info *d)
{
	int i;

	one(o, "adept_sessions_open", GAUGE, NULL, d->sessions_open,
	    "Sessions that have not ended.");
	one(o, "adept_sessions_started", COUNTER, NULL, d->sessions_begun, "Sessions started.");
	one(o, "adept_sessions_adopted", COUNTER, NULL, d->sessions_adopted,
	    "Sessions adopted from an earlier depd.");
	family(o, "adept_sessions_ended", COUNTER, NULL, "Sessions that have ended, by cause.");
	for (i = DEP_CLOSE_UNKNOWN + 1; i < DEP_CLOSE_CAUSES; i++)
		whole_of(o, "cause", session_cause_name(i), d->sessions_ended[i]);
}

static void put_flow(struct metrics_out *o, const struct depd_info *d)
{
	int i;

	one(o, "adept_chunks", COUNTER, NULL, d->chunks, "Chunks taken from programs.");
	one(o, "adept_recorded_bytes", COUNTER, "bytes", d->raw_bytes,
	    "Bytes recorded by programs, before compression.");
	one(o, "adept_stored_bytes", COUNTER, "bytes", d->stored_bytes, "Bytes written to stores.");
	one(o, "adept_queue_jobs", GAUGE, NULL, d->queue_jobs,
	    "Jobs of writer threads, waiting or running.");
	one(o, "adept_writer_threads", GAUGE, NULL, d->workers, "Writer threads.");
	one(o, "adept_writer_threads_busy", GAUGE, NULL, d->workers_busy, "Busy writer threads.");
	family(o, "adept_stage_seconds", COUNTER, "seconds",
	       "Time spent on chunks in each stage of storing.");
	for (i = 0; i < STAGES; i++) {
		begin_sample(o);
		strbuf_printf(&o->t, "{stage=\"%s\"}", depd_stage_name(i));
		put_seconds(&o->t, d->stage_ns[i]);
	}
	family(o, "adept_stage_chunks", COUNTER, NULL, "Chunks processed by each stage.");
	for (i = 0; i < STAGES; i++)
		whole_of(o, "stage", depd_stage_name(i), d->stage_chunks[i]);
}

static void put_loss(struct metrics_out *o, const struct dep_loss *l)
{
	family(o, "adept_loss_bytes", COUNTER, "bytes", "Bytes recorded and not stored.");
	whole_of(o, "cause", "dropped", l->dropped_bytes);
	whole_of(o, "cause", "discarded", l->discarded_bytes);
	whole_of(o, "cause", "absent", l->absent_bytes);
	family(o, "adept_loss_chunks", COUNTER, NULL, "Chunks recorded and not stored.");
	whole_of(o, "cause", "dropped", l->dropped_chunks);
	whole_of(o, "cause", "absent", l->absent_chunks);
	whole_of(o, "cause", "torn", l->torn_segments);
	family(o, "adept_loss_threads", COUNTER, NULL,
	       "Threads that ran unrecorded, or whose stream is incomplete.");
	whole_of(o, "cause", "unrecorded", l->lost_threads);
	whole_of(o, "cause", "unfinished", l->unfinished_threads);
	whole_of(o, "cause", "untaken", l->untaken_threads);
	family(o, "adept_loss_processes", COUNTER, NULL,
	       "Processes that ran unrecorded; native: their program cannot be recorded, "
	       "privileged: it raises privileges.");
	whole_of(o, "cause", "unrecorded", l->lost_processes);
	whole_of(o, "cause", "native", l->native_images > l->native_privileged ?
		 l->native_images - l->native_privileged : 0);
	whole_of(o, "cause", "privileged", l->native_privileged);
	one(o, "adept_unwanted_children", COUNTER, NULL, l->unwanted_children,
	    "Children that ran unrecorded because of --children=no.");
	one(o, "adept_loss_descriptors", COUNTER, NULL, l->lost_descriptors,
	    "Descriptors of code, mappings and log lines that were not recorded.");
	one(o, "adept_loss_corrupt", COUNTER, NULL, l->corrupt,
	    "Invalid rings, slots and descriptors.");
	one(o, "adept_loss_sessions", COUNTER, NULL, l->unclean,
	    "Sessions that did not end properly.");
}

static void put_retention(struct metrics_out *o, const struct depd_info *d)
{
	one(o, "adept_policy_active", GAUGE, NULL, d->policy_active,
	    "1 if rules are in effect.");
	one(o, "adept_policy_rules", GAUGE, NULL, d->rules, "Rules of the configuration.");
	one(o, "adept_policy_matches", COUNTER, NULL, d->policy_matches,
	    "Processes recorded because of a rule.");
	one(o, "adept_policy_unrecorded", COUNTER, NULL, d->policy_missed,
	    "Processes that matched a rule and ran unrecorded.");
	one(o, "adept_stores_removed", COUNTER, NULL, d->stores_removed,
	    "Stores removed because of their age or for space.");
	one(o, "adept_stores_removed_bytes", COUNTER, "bytes", d->stores_removed_bytes,
	    "Bytes freed by removing stores.");
}

/* ---- metrics of open sessions ---- */

static uint64_t value_lag_chunks(const struct session_info *s) { return s->lag_chunks; }
static uint64_t value_lag_bytes(const struct session_info *s) { return s->lag_bytes; }
static uint64_t value_waiting(const struct session_info *s) { return s->waiting_threads; }
static uint64_t value_live(const struct session_info *s) { return s->live_processes; }
static uint64_t value_chunks(const struct session_info *s) { return s->chunks; }
static uint64_t value_recorded(const struct session_info *s) { return s->raw_bytes; }
static uint64_t value_stored(const struct session_info *s) { return s->stored_bytes; }
static uint64_t value_null(const struct session_info *s) { return s->null_bytes; }
static uint64_t value_dropped(const struct session_info *s) { return s->loss.dropped_bytes; }
static uint64_t value_discarded(const struct session_info *s) { return s->loss.discarded_bytes; }

/** struct series - a metric family with one sample for each open session */
static const struct series {
	const char *name;
	enum type type;
	const char *unit, *help;
	uint64_t (*value)(const struct session_info *s);
} series[] = {
	{ "adept_session_lag_chunks", GAUGE, NULL,
	  "Chunks published by its programs and not yet stored.", value_lag_chunks },
	{ "adept_session_lag_bytes", GAUGE, "bytes",
	  "Bytes published by its programs and not yet stored.", value_lag_bytes },
	{ "adept_session_waiting_threads", GAUGE, NULL, "Threads that wait for a free chunk.",
	  value_waiting },
	{ "adept_session_processes", GAUGE, NULL, "Running processes.", value_live },
	{ "adept_session_chunks", COUNTER, NULL, "Chunks taken from its programs.", value_chunks },
	{ "adept_session_recorded_bytes", COUNTER, "bytes",
	  "Bytes recorded by its programs, before compression.", value_recorded },
	{ "adept_session_stored_bytes", COUNTER, "bytes", "Bytes written to its store.",
	  value_stored },
	{ "adept_session_null_bytes", COUNTER, "bytes", "Bytes counted, not stored (option null).",
	  value_null },
	{ "adept_session_dropped_bytes", COUNTER, "bytes", "Bytes dropped because a ring was full.",
	  value_dropped },
	{ "adept_session_discarded_bytes", COUNTER, "bytes",
	  "Bytes not stored because the store was full or had failed.", value_discarded },
};

/* Get session number @n, from 0.  Return: 1: open; 0: ended; -1: there are fewer sessions. */
static int open_session(const struct control_ops *ops, size_t n, struct session_info *s)
{
	if (!ops->session(ops->arg, n, s))
		return -1;
	return s->state != SESSION_ENDED;
}

static void put_who(struct metrics_out *o, const struct control_ops *ops)
{
	struct session_info s;
	size_t i;
	int open;

	family(o, "adept_session", INFO, NULL, "Open sessions.");
	for (i = 0; (open = open_session(ops, i, &s)) >= 0; i++) {
		if (!open)
			continue;
		begin_sample(o);
		strbuf_printf(&o->t, "{session=\"%u\",uid=\"%u\",state=\"%s\",transport=\"",
			      s.id, s.uid, session_state_name(s.state));
		put_label(&o->t, s.transport);
		strbuf_str(&o->t, "\",rule=\"");
		put_label(&o->t, s.rule);
		strbuf_str(&o->t, "\",command=\"");
		put_label(&o->t, s.command);
		strbuf_str(&o->t, "\"} 1\n");
	}
}

static void put_series(struct metrics_out *o, const struct control_ops *ops)
{
	struct session_info s;
	size_t i, k;
	char id[16];
	int open;

	for (k = 0; k < sizeof(series) / sizeof(series[0]); k++) {
		family(o, series[k].name, series[k].type, series[k].unit, series[k].help);
		for (i = 0; (open = open_session(ops, i, &s)) >= 0; i++) {
			if (!open)
				continue;
			snprintf(id, sizeof(id), "%u", s.id);
			whole_of(o, "session", id, series[k].value(&s));
		}
	}
}

static void put_lag(struct metrics_out *o, const struct control_ops *ops,
		    const struct depd_info *d)
{
	uint64_t chunks = d->lag_chunks, bytes = d->lag_bytes, waiting = d->waiting_threads;
	struct session_info s;
	size_t i;

	for (i = 0; ops->session(ops->arg, i, &s); i++) {
		chunks += s.lag_chunks;
		bytes += s.lag_bytes;
		waiting += s.waiting_threads;
	}
	one(o, "adept_lag_chunks", GAUGE, NULL, chunks,
	    "Chunks published by programs and not yet stored.");
	one(o, "adept_lag_bytes", GAUGE, "bytes", bytes,
	    "Bytes published by programs and not yet stored.");
	one(o, "adept_waiting_threads", GAUGE, NULL, waiting,
	    "Threads that wait for a free chunk.");
}

/* ---- metrics of users, of root's depd only ---- */

static const struct {
	const char *name;
	enum type type;
	const char *unit, *help;
	enum account_what what;
} of_user[] = {
	{ "adept_user_sessions", GAUGE, NULL, "Sessions of a user that have not ended.",
	  ACCOUNT_SESSIONS },
	{ "adept_user_instances", GAUGE, NULL, "Instances of depd for a user.",
	  ACCOUNT_INSTANCES },
	{ "adept_user_clients", GAUGE, NULL, "A user's clients of the control socket.",
	  ACCOUNT_CLIENTS },
	{ "adept_user_resident_memory_bytes", GAUGE, "bytes", "Memory of a user's instances.",
	  ACCOUNT_MEMORY },
	{ "adept_user_open_fds", GAUGE, NULL, "Descriptors of a user's instances.", ACCOUNT_FDS },
	{ "adept_user_lag_bytes", GAUGE, "bytes",
	  "Bytes published by a user's programs and not yet stored.", ACCOUNT_QUEUED },
	{ "adept_user_stored_bytes", COUNTER, "bytes", "Bytes written by a user's instances.",
	  ACCOUNT_STORED },
	{ "adept_user_cpu_seconds", COUNTER, "seconds", "Processor time of a user's instances.",
	  ACCOUNT_CPU },
	{ "adept_user_refused", COUNTER, NULL,
	  "Requests refused because a user's limit was reached.", ACCOUNT_KINDS },
};

static void put_user(struct metrics_out *o, const struct account_info *a, enum account_what what)
{
	begin_sample(o);
	strbuf_printf(&o->t, "{uid=\"%" PRIu64 "\"}", a->uid);
	if (what == ACCOUNT_CPU)
		put_seconds(&o->t, a->used[what]);
	else
		strbuf_printf(&o->t, " %" PRIu64 "\n",
			      what == ACCOUNT_KINDS ? a->refused : a->used[what]);
}

static void put_users(struct metrics_out *o, const struct control_ops *ops)
{
	struct account_info a;
	size_t i, k;

	for (k = 0; ops->account && k < sizeof(of_user) / sizeof(of_user[0]); k++) {
		family(o, of_user[k].name, of_user[k].type, of_user[k].unit, of_user[k].help);
		for (i = 0; ops->account(ops->arg, i, &a); i++)
			put_user(o, &a, of_user[k].what);
	}
}

char *metrics_format_text(const struct control_ops *ops, enum metrics_format format)
{
	struct metrics_out o = { .format = format };
	struct depd_info d = { .version = "" };

	ops->info(ops->arg, &d);
	put_self(&o, &d);
	put_sessions(&o, &d);
	put_flow(&o, &d);
	put_lag(&o, ops, &d);
	put_loss(&o, &d.loss);
	put_retention(&o, &d);
	put_who(&o, ops);
	put_series(&o, ops);
	put_users(&o, ops);
	if (format == METRICS_OPEN)
		strbuf_str(&o.t, "# EOF\n");
	return strbuf_take(&o.t);
}

char *metrics_text(const struct control_ops *ops)
{
	return metrics_format_text(ops, METRICS_OPEN);
}
