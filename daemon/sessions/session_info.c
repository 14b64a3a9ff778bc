// SPDX-License-Identifier: GPL-2.0-or-later
#include "session_info.h"
#include "snapshot.h"

struct session *session_find(struct depd *d, uint32_t id)
{
	struct session *s;

	for (s = d->sessions; s && s->id != id; s = s->next)
		;
	return s;
}

void session_totals(struct session *s, struct session_totals *out)
{
	struct dep_loss loss = { 0 };

	*out = s->before;
	if (!s->collector)
		return;
	/* Data lost by the collector; session_loss() adds losses counted in the session file. */
	dep_collector_own_loss(s->collector, &loss);
	dep_loss_add(&out->loss, &loss);
	out->raw_bytes += s->last.raw_bytes;
	out->chunks += s->last.chunks;
	out->null_bytes += s->last.null_bytes;
}

void session_loss(struct session *s, struct dep_loss *out)
{
	struct session_totals t;

	session_totals(s, &t);
	*out = t.loss;
	dep_session_loss(&s->ring, out);
}

void session_info(struct session *s, struct session_info *out)
{
	struct session_totals t;

	session_totals(s, &t);
	*out = (struct session_info){
		.id = s->id, .uid = s->owner.uid, .pid = s->pid,
		.state = s->state, .cause = s->cause,
		.store = s->store, .command = s->command, .rule = s->rule,
		.transport = s->flags & ADEPT_S_MODULE ? "kmod" : "shm",
		.error = s->error, .adopted = s->adopted,
		.attached = s->attached, .stop_ns = s->stop_ns, .stop_threads = s->stop_threads,
		.start_realtime_ns = s->start_realtime_ns,
		.age_ns = loop_now() - s->start_ns,
		.processes = s->last.processes, .threads = s->last.threads,
		.live_processes = s->last.live_processes,
		.chunks = t.chunks, .raw_bytes = t.raw_bytes,
		.stored_bytes = s->last.stored_bytes, .null_bytes = t.null_bytes,
		.exit_status = s->status,
		.loss = s->loss,
		.last_max_bytes = s->last_bytes, .last_max_ns = s->last_ns,
		.last_bytes = s->last.last_bytes, .last_descriptors = s->last.last_descriptors,
		.last_dropped = s->last.last_dropped, .last_limit = s->last.last_limit,
		.last_on_disk = s->last_on_disk,
		.last_kept_ns = s->last_kept_ns, .removed = s->removed,
	};
	snapshot_info(s, out);
	if (s->state == SESSION_ENDED)
		return;
	session_loss(s, &out->loss);
	dep_collector_lag(s->collector, &out->lag_chunks, &out->lag_bytes, &out->waiting_threads);
}
