// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * JSON responses and events of the control socket.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "daemon/base/signal_name.h"
#include "response.h"
#include "request.h"

void response_begin(struct strbuf *t)
{
	strbuf_open(t, NULL, '{');
	strbuf_u64(t, "v", DEPD_PROTOCOL);
	strbuf_bool(t, "ok", true);
}

void response_end(struct strbuf *t)
{
	strbuf_close(t, '}');
}

void response_refusal(struct strbuf *t, int err, const char *why)
{
	const char *name = strerrorname_np(-err);

	strbuf_open(t, NULL, '{');
	strbuf_u64(t, "v", DEPD_PROTOCOL);
	strbuf_bool(t, "ok", false);
	strbuf_string(t, "error", name ? name : "EIO");
	strbuf_string(t, "message", why && *why ? why : strerrordesc_np(-err));
	strbuf_close(t, '}');
}

void response_event(struct strbuf *t, const char *event, const struct session_info *s)
{
	strbuf_open(t, NULL, '{');
	strbuf_u64(t, "v", DEPD_PROTOCOL);
	strbuf_string(t, "event", event);
	response_session(t, "session", s);
	strbuf_close(t, '}');
}

/* Times are strings: a double cannot hold nanoseconds since 1970 exactly. */
static void put_time(struct strbuf *t, const char *key, uint64_t ns)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRIu64, ns);
	strbuf_string(t, key, digits);
}

/* Append the exit status of the first process, as from wait(2); -1: unknown. */
static void put_exit(struct strbuf *t, int status)
{
	char name[SIGNAL_NAME];

	if (status < 0) {
		strbuf_string(t, "exit", NULL);
		return;
	}
	strbuf_open(t, "exit", '{');
	if (WIFSIGNALED(status))
		strbuf_string(t, "signal", signal_name(WTERMSIG(status), name));
	else
		strbuf_u64(t, "code", WEXITSTATUS(status));
	strbuf_close(t, '}');
}

static void put_loss(struct strbuf *t, const struct dep_loss *l)
{
	strbuf_open(t, "loss", '{');
	strbuf_u64(t, "dropped_chunks", l->dropped_chunks);
	strbuf_u64(t, "dropped_bytes", l->dropped_bytes);
	strbuf_u64(t, "discarded_bytes", l->discarded_bytes);
	strbuf_u64(t, "lost_threads", l->lost_threads);
	strbuf_u64(t, "lost_processes", l->lost_processes);
	strbuf_u64(t, "native_images", l->native_images);
	strbuf_u64(t, "native_privileged", l->native_privileged);
	strbuf_u64(t, "unwanted_children", l->unwanted_children);
	strbuf_u64(t, "absent_chunks", l->absent_chunks);
	strbuf_u64(t, "absent_bytes", l->absent_bytes);
	strbuf_u64(t, "unfinished_threads", l->unfinished_threads);
	strbuf_u64(t, "untaken_threads", l->untaken_threads);
	strbuf_u64(t, "lost_descriptors", l->lost_descriptors);
	strbuf_u64(t, "corrupt", l->corrupt);
	strbuf_u64(t, "torn_segments", l->torn_segments);
	strbuf_u64(t, "unfinished_processes", l->unclean);
	strbuf_close(t, '}');
}

static void put_attach(struct strbuf *t, const struct session_info *s)
{
	if (!s->attached) {
		strbuf_string(t, "attach", NULL);
		return;
	}
	strbuf_open(t, "attach", '{');
	strbuf_u64(t, "stop_ns", s->stop_ns);
	strbuf_u64(t, "thread_count", s->stop_threads);
	strbuf_close(t, '}');
}

static void put_newest(struct strbuf *t, const struct session_info *s)
{
	const struct dep_kept *k = &s->newest_kept;

	if (!s->newest_snapshot) {
		strbuf_string(t, "newest", NULL);
		return;
	}
	strbuf_open(t, "newest", '{');
	strbuf_string(t, "store", s->newest_snapshot);
	strbuf_string(t, "reason", dep_keep_name(k->reason));
	strbuf_string(t, "what", k->what);
	strbuf_u64(t, "value", k->value);
	strbuf_u64(t, "tid", k->tid);
	strbuf_close(t, '}');
}

static void put_last(struct strbuf *t, const struct session_info *s)
{
	if (!s->last_max_bytes) {
		strbuf_string(t, "last", NULL);
		return;
	}
	strbuf_open(t, "last", '{');
	strbuf_u64(t, "max_bytes", s->last_max_bytes);
	strbuf_u64(t, "max_ns", s->last_max_ns);
	strbuf_bool(t, "is_on_disk", s->last_on_disk);
	strbuf_u64(t, "limit_bytes", s->last_limit);
	strbuf_u64(t, "chunk_bytes", s->last_bytes);
	strbuf_u64(t, "descriptor_bytes", s->last_descriptors);
	strbuf_u64(t, "dropped_bytes", s->last_dropped);
	strbuf_u64(t, "kept_ns", s->last_kept_ns);
	strbuf_u64(t, "snapshot_count", s->snapshots);
	strbuf_u64(t, "skipped_triggers", s->skipped_triggers);
	put_newest(t, s);
	strbuf_close(t, '}');
}

static void put_lag(struct strbuf *t, uint64_t chunks, uint64_t bytes)
{
	strbuf_open(t, "lag", '{');
	strbuf_u64(t, "chunks", chunks);
	strbuf_u64(t, "bytes", bytes);
	strbuf_close(t, '}');
}

void response_session(struct strbuf *t, const char *key, const struct session_info *s)
{
	strbuf_open(t, key, '{');
	strbuf_u64(t, "id", s->id);
	strbuf_u64(t, "uid", s->uid);
	strbuf_u64(t, "pid", s->pid);
	strbuf_string(t, "state", session_state_name(s->state));
	strbuf_string(t, "cause", session_cause_name(s->cause));
	strbuf_string(t, "store", s->store);
	strbuf_string(t, "command", s->command);
	strbuf_string(t, "rule", s->rule);
	strbuf_string(t, "transport", s->transport);
	strbuf_string(t, "error", s->error);
	strbuf_bool(t, "is_adopted", s->adopted);
	strbuf_bool(t, "is_removed", s->removed);
	put_attach(t, s);
	put_last(t, s);
	put_time(t, "start_realtime_ns", s->start_realtime_ns);
	strbuf_u64(t, "age_ns", s->age_ns);
	strbuf_u64(t, "process_count", s->processes);
	strbuf_u64(t, "thread_count", s->threads);
	strbuf_u64(t, "live_processes", s->live_processes);
	strbuf_u64(t, "chunks", s->chunks);
	strbuf_u64(t, "raw_bytes", s->raw_bytes);
	strbuf_u64(t, "stored_bytes", s->stored_bytes);
	strbuf_u64(t, "null_bytes", s->null_bytes);
	put_lag(t, s->lag_chunks, s->lag_bytes);
	strbuf_u64(t, "waiting_threads", s->waiting_threads);
	put_exit(t, s->exit_status);
	put_loss(t, &s->loss);
	strbuf_close(t, '}');
}

static void put_stages(struct strbuf *t, const struct depd_info *d)
{
	int i;

	strbuf_open(t, "stages", '{');
	for (i = 0; i < STAGES; i++) {
		strbuf_open(t, depd_stage_name(i), '{');
		strbuf_u64(t, "ns", d->stage_ns[i]);
		strbuf_u64(t, "chunks", d->stage_chunks[i]);
		strbuf_close(t, '}');
	}
	strbuf_close(t, '}');
}

static void put_sessions(struct strbuf *t, const struct depd_info *d)
{
	int i;

	strbuf_open(t, "session_counts", '{');
	strbuf_u64(t, "open", d->sessions_open);
	strbuf_u64(t, "started", d->sessions_begun);
	strbuf_u64(t, "adopted", d->sessions_adopted);
	strbuf_open(t, "ended", '{');
	for (i = DEP_CLOSE_UNKNOWN + 1; i < DEP_CLOSE_CAUSES; i++)
		strbuf_u64(t, session_cause_name(i), d->sessions_ended[i]);
	strbuf_close(t, '}');
	strbuf_close(t, '}');
}

static void put_policy(struct strbuf *t, const struct depd_info *d)
{
	strbuf_bool(t, "active", d->policy_active);
	strbuf_string(t, "policy_error", d->policy_error);
	strbuf_u64(t, "matches", d->policy_matches);
	strbuf_u64(t, "unrecorded", d->policy_missed);
}

void response_depd(struct strbuf *t, const struct depd_info *d, uint64_t chunks, uint64_t bytes)
{
	strbuf_open(t, "depd", '{');
	strbuf_string(t, "version", d->version);
	strbuf_u64(t, "pid", d->pid);
	put_time(t, "start_realtime_ns", d->start_realtime_ns);
	strbuf_u64(t, "uptime_ns", d->uptime_ns);
	strbuf_u64(t, "cpu_ns", d->cpu_ns);
	strbuf_u64(t, "memory_bytes", d->memory_bytes);
	put_sessions(t, d);
	strbuf_u64(t, "chunks", d->chunks);
	strbuf_u64(t, "raw_bytes", d->raw_bytes);
	strbuf_u64(t, "stored_bytes", d->stored_bytes);
	put_lag(t, chunks, bytes);
	put_stages(t, d);
	strbuf_u64(t, "queue_jobs", d->queue_jobs);
	strbuf_u64(t, "writer_threads", d->workers);
	strbuf_u64(t, "writer_threads_busy", d->workers_busy);
	put_loss(t, &d->loss);
	strbuf_u64(t, "requests", d->requests);
	strbuf_u64(t, "requests_refused", d->requests_refused);
	strbuf_u64(t, "clients", d->clients);
	strbuf_open(t, "policy", '{');
	put_policy(t, d);
	strbuf_u64(t, "rule_count", d->rules);
	strbuf_close(t, '}');
	strbuf_u64(t, "stores_removed", d->stores_removed);
	strbuf_u64(t, "stores_removed_bytes", d->stores_removed_bytes);
	strbuf_close(t, '}');
}

void response_account(struct strbuf *t, const struct account_info *a)
{
	strbuf_open(t, NULL, '{');
	strbuf_u64(t, "uid", a->uid);
	strbuf_u64(t, "instances", a->used[ACCOUNT_INSTANCES]);
	strbuf_u64(t, "session_count", a->used[ACCOUNT_SESSIONS]);
	strbuf_u64(t, "clients", a->used[ACCOUNT_CLIENTS]);
	strbuf_u64(t, "waiting", a->used[ACCOUNT_WAITING]);
	strbuf_u64(t, "directories", a->used[ACCOUNT_DIRECTORIES]);
	strbuf_u64(t, "memory_bytes", a->used[ACCOUNT_MEMORY]);
	strbuf_u64(t, "descriptors", a->used[ACCOUNT_FDS]);
	strbuf_u64(t, "queued_bytes", a->used[ACCOUNT_QUEUED]);
	strbuf_u64(t, "stored_bytes", a->used[ACCOUNT_STORED]);
	strbuf_u64(t, "cpu_ns", a->used[ACCOUNT_CPU]);
	strbuf_u64(t, "refused", a->refused);
	strbuf_close(t, '}');
}

void response_policy(struct strbuf *t, const struct depd_info *d, const char *rules)
{
	strbuf_open(t, "policy", '{');
	put_policy(t, d);
	strbuf_raw(t, "rules", rules);
	strbuf_close(t, '}');
}
