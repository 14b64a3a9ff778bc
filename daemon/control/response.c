// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Answers and events of the control socket.
 */
#include <stdlib.h>
#include <string.h>

#include "response.h"
#include "request.h"

void answer_begin(struct text *t)
{
	text_open(t, NULL, '{');
	text_u64(t, "v", DEPD_PROTOCOL);
	text_bool(t, "ok", true);
}

void answer_end(struct text *t)
{
	text_close(t, '}');
}

void answer_refusal(struct text *t, int err, const char *why)
{
	const char *name = strerrorname_np(-err);

	text_open(t, NULL, '{');
	text_u64(t, "v", DEPD_PROTOCOL);
	text_bool(t, "ok", false);
	text_string(t, "error", name ? name : "EIO");
	text_string(t, "message", why && *why ? why : strerrordesc_np(-err));
	text_close(t, '}');
}

void answer_event(struct text *t, const char *event, const struct session_info *s)
{
	text_open(t, NULL, '{');
	text_u64(t, "v", DEPD_PROTOCOL);
	text_string(t, "event", event);
	answer_session(t, "session", s);
	text_close(t, '}');
}

static void put_loss(struct text *t, const struct dep_loss *l)
{
	text_open(t, "loss", '{');
	text_u64(t, "dropped_chunks", l->dropped_chunks);
	text_u64(t, "dropped_bytes", l->dropped_bytes);
	text_u64(t, "discarded_bytes", l->discarded_bytes);
	text_u64(t, "lost_threads", l->lost_threads);
	text_u64(t, "lost_processes", l->lost_processes);
	text_u64(t, "native_images", l->native_images);
	text_u64(t, "native_privileged", l->native_privileged);
	text_u64(t, "absent_chunks", l->absent_chunks);
	text_u64(t, "absent_bytes", l->absent_bytes);
	text_u64(t, "unfinished_threads", l->unfinished_threads);
	text_u64(t, "untaken_threads", l->untaken_threads);
	text_u64(t, "corrupt", l->corrupt);
	text_u64(t, "torn_segments", l->torn_segments);
	text_u64(t, "unclean", l->unclean);
	text_close(t, '}');
}

static void put_lag(struct text *t, uint64_t chunks, uint64_t bytes)
{
	text_open(t, "lag", '{');
	text_u64(t, "chunks", chunks);
	text_u64(t, "bytes", bytes);
	text_close(t, '}');
}

void answer_session(struct text *t, const char *key, const struct session_info *s)
{
	text_open(t, key, '{');
	text_u64(t, "id", s->id);
	text_u64(t, "uid", s->uid);
	text_u64(t, "pid", s->pid);
	text_string(t, "state", session_state_name(s->state));
	text_string(t, "cause", session_cause_name(s->cause));
	text_string(t, "store", s->store);
	text_string(t, "command", s->command);
	text_string(t, "rule", s->rule);
	text_string(t, "transport", s->transport);
	text_string(t, "error", s->error);
	text_bool(t, "adopted", s->adopted);
	text_u64(t, "start_realtime_ns", s->start_realtime_ns);
	text_u64(t, "age_ns", s->age_ns);
	text_u64(t, "processes", s->processes);
	text_u64(t, "threads", s->threads);
	text_u64(t, "live_processes", s->live_processes);
	text_u64(t, "chunks", s->chunks);
	text_u64(t, "raw_bytes", s->raw_bytes);
	text_u64(t, "stored_bytes", s->stored_bytes);
	text_u64(t, "null_bytes", s->null_bytes);
	put_lag(t, s->lag_chunks, s->lag_bytes);
	text_u64(t, "waiting_threads", s->waiting_threads);
	text_i64(t, "exit_status", s->exit_status);
	put_loss(t, &s->loss);
	text_close(t, '}');
}

static void put_stages(struct text *t, const struct depd_info *d)
{
	int i;

	text_open(t, "stages", '{');
	for (i = 0; i < STAGES; i++) {
		text_open(t, depd_stage_name(i), '{');
		text_u64(t, "ns", d->stage_ns[i]);
		text_u64(t, "chunks", d->stage_chunks[i]);
		text_close(t, '}');
	}
	text_close(t, '}');
}

static void put_sessions(struct text *t, const struct depd_info *d)
{
	int i;

	text_open(t, "sessions", '{');
	text_u64(t, "open", d->sessions_open);
	text_u64(t, "begun", d->sessions_begun);
	text_u64(t, "adopted", d->sessions_adopted);
	text_open(t, "ended", '{');
	for (i = DEP_CLOSE_UNKNOWN + 1; i < DEP_CLOSE_CAUSES; i++)
		text_u64(t, session_cause_name(i), d->sessions_ended[i]);
	text_close(t, '}');
	text_close(t, '}');
}

static void put_policy(struct text *t, const struct depd_info *d)
{
	text_bool(t, "active", d->policy_active);
	text_string(t, "trouble", d->policy_trouble);
	text_u64(t, "matches", d->policy_matches);
	text_u64(t, "missed", d->policy_missed);
}

void answer_depd(struct text *t, const struct depd_info *d, uint64_t chunks, uint64_t bytes)
{
	text_open(t, "depd", '{');
	text_string(t, "version", d->version);
	text_u64(t, "pid", d->pid);
	text_u64(t, "start_realtime_ns", d->start_realtime_ns);
	text_u64(t, "uptime_ns", d->uptime_ns);
	text_u64(t, "cpu_ns", d->cpu_ns);
	text_u64(t, "memory_bytes", d->memory_bytes);
	put_sessions(t, d);
	text_u64(t, "chunks", d->chunks);
	text_u64(t, "raw_bytes", d->raw_bytes);
	text_u64(t, "stored_bytes", d->stored_bytes);
	put_lag(t, chunks, bytes);
	put_stages(t, d);
	text_u64(t, "queue_jobs", d->queue_jobs);
	text_u64(t, "workers", d->workers);
	text_u64(t, "workers_busy", d->workers_busy);
	put_loss(t, &d->loss);
	text_u64(t, "requests", d->requests);
	text_u64(t, "requests_refused", d->requests_refused);
	text_u64(t, "clients", d->clients);
	text_open(t, "policy", '{');
	put_policy(t, d);
	text_u64(t, "rules", d->rules);
	text_close(t, '}');
	text_u64(t, "stores_removed", d->stores_removed);
	text_u64(t, "stores_removed_bytes", d->stores_removed_bytes);
	text_close(t, '}');
}

void answer_account(struct text *t, const struct account_info *a)
{
	text_open(t, NULL, '{');
	text_u64(t, "uid", a->uid);
	text_u64(t, "instances", a->used[ACCOUNT_INSTANCES]);
	text_u64(t, "sessions", a->used[ACCOUNT_SESSIONS]);
	text_u64(t, "clients", a->used[ACCOUNT_CLIENTS]);
	text_u64(t, "waiting", a->used[ACCOUNT_WAITING]);
	text_u64(t, "directories", a->used[ACCOUNT_DIRECTORIES]);
	text_u64(t, "memory_bytes", a->used[ACCOUNT_MEMORY]);
	text_u64(t, "descriptors", a->used[ACCOUNT_FDS]);
	text_u64(t, "queued_bytes", a->used[ACCOUNT_QUEUED]);
	text_u64(t, "stored_bytes", a->used[ACCOUNT_STORED]);
	text_u64(t, "cpu_ns", a->used[ACCOUNT_CPU]);
	text_u64(t, "refused", a->refused);
	text_close(t, '}');
}

void answer_policy(struct text *t, const struct depd_info *d, const char *rules)
{
	text_open(t, "policy", '{');
	put_policy(t, d);
	text_raw(t, "rules", rules);
	text_close(t, '}');
}
