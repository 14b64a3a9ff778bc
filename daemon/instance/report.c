// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "report.h"
#include "daemon/core/control_ops.h"
#include "daemon/sessions/session.h"

static void count_rule(struct link_report *r, const char *rule)
{
	uint64_t name = link_rule_name(rule);
	uint32_t i;

	for (i = 0; i < r->nrules && r->rule[i].name != name; i++)
		;
	if (i == POLICY_RULES_MAX)
		return;
	if (i == r->nrules)
		r->rule[r->nrules++] = (struct link_rule){ .name = name };
	r->rule[i].open++;
}

static void count_sessions(struct depd *d, struct link_report *r)
{
	struct session_info i;
	struct session *s;

	for (s = d->sessions; s; s = s->next) {
		if (s->state == SESSION_ENDED)
			continue;
		session_info(s, &i);
		r->gauges.lag_chunks += i.lag_chunks;
		r->gauges.lag_bytes += i.lag_bytes;
		r->gauges.waiting_threads += i.waiting_threads;
		if (*s->rule)
			count_rule(r, s->rule);
	}
}

static uint64_t count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	uint64_t n = 0;

	if (!d)
		return 0;
	while (readdir(d))
		n++;
	closedir(d);
	/* Without ".", ".." and the descriptor of the directory itself. */
	return n > 3 ? n - 3 : 0;
}

void report_make(struct depd *d, struct link_report *r)
{
	struct depd_info i;

	depd_own_info(d, &i);
	*r = (struct link_report){
		.counters = {
			.begun = i.sessions_begun, .adopted = i.sessions_adopted,
			.chunks = i.chunks, .raw_bytes = i.raw_bytes,
			.stored_bytes = i.stored_bytes, .requests = i.requests,
			.refused = i.requests_refused, .removed = i.stores_removed,
			.removed_bytes = i.stores_removed_bytes, .cpu_ns = i.cpu_ns,
			.loss = i.loss,
		},
		.gauges = {
			.open = i.sessions_open, .clients = i.clients,
			.queue_jobs = i.queue_jobs, .workers = i.workers,
			.workers_busy = i.workers_busy, .memory_bytes = i.memory_bytes,
			.fds = count_fds(),
		},
	};
	memcpy(r->counters.ended, i.sessions_ended, sizeof(i.sessions_ended));
	memcpy(r->counters.stage_ns, i.stage_ns, sizeof(i.stage_ns));
	memcpy(r->counters.stage_chunks, i.stage_chunks, sizeof(i.stage_chunks));
	count_sessions(d, r);
}
