// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Output of a store's verdict (dep/verdict.h): as a line of text, as a JSON object, and as the
 * warning that commands print when they read an incomplete store.
 */
#include <stdio.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "tools/depctl/common/output.h"
#include "verdict.h"

/* Write why the recording was ended on purpose; "" if it was not. */
static void put_cause(const struct dep_verdict *v, char *text, size_t size)
{
	text[0] = '\0';
	if (v->cause == DEP_CLOSE_MAX_SIZE)
		snprintf(text, size, ", ended at --max-size");
	else if (v->cause == DEP_CLOSE_STOPPED || v->cause == DEP_CLOSE_SHUTDOWN)
		snprintf(text, size, ", ended on purpose");
	if (*text && v->live)
		snprintf(text + strlen(text), size - strlen(text), ", %u process%s continued",
			 v->live, v->live == 1 ? "" : "es");
}

void verdict_line(struct dep_store *s, char *text, size_t size)
{
	const struct dep_verdict *v = dep_store_verdict(s);
	uint64_t more = v->ndefects + v->more;
	char cause[64];

	put_cause(v, cause, sizeof(cause));
	switch (v->state) {
	case DEP_VERDICT_COMPLETE:
		snprintf(text, size, "complete%s", cause);
		break;
	case DEP_VERDICT_RECORDING:
		snprintf(text, size, "being recorded");
		break;
	case DEP_VERDICT_NO_PROOF:
		snprintf(text, size,
			 "nothing is known to be missing, but format 3 cannot prove it%s", cause);
		break;
	default:
		snprintf(text, size, "NOT COMPLETE: %s", v->ndefects ? v->defect[0].text : "?");
		if (more > 1)
			snprintf(text + strlen(text), size - strlen(text), " (and %llu more)",
				 (unsigned long long)more - 1);
	}
}

void verdict_warn(struct dep_store *s, const char *path)
{
	char text[VERDICT_LINE];

	if (dep_store_verdict(s)->state == DEP_VERDICT_COMPLETE)
		return;
	verdict_line(s, text, sizeof(text));
	warn("%s: %s; see `depctl verify'", path, text);
}

static void put_defect(struct json *j, struct dep_store *s, const struct dep_defect *d)
{
	const struct dep_thread *t = d->thread ? thread_of(s, d->thread) : NULL;

	json_object(j, NULL);
	json_str(j, "kind", dep_defect_name(d->kind));
	if (d->thread)
		json_u64(j, "thread", d->thread);
	if (t)
		json_u64(j, "tid", t->tid);
	if (d->count) {
		json_u64(j, "first", d->first);
		json_u64(j, "count", d->count);
	}
	if (d->since_ns)
		json_big(j, "since_ns", d->since_ns);
	json_str(j, "text", d->text);
	json_close(j, '}');
}

void verdict_json(struct json *j, struct dep_store *s)
{
	const struct dep_verdict *v = dep_store_verdict(s);
	size_t i;

	json_object(j, "verdict");
	json_str(j, "state", dep_verdict_name(v->state));
	json_bool(j, "proof", v->proof);
	json_str(j, "cause", dep_close_cause_name(v->cause));
	json_u64(j, "live_processes", v->live);
	json_u64(j, "errno", (uint64_t)v->error);
	if (v->sure_ns)
		json_big(j, "sure_ns", v->sure_ns);
	json_array(j, "defects");
	for (i = 0; i < v->ndefects; i++)
		put_defect(j, s, &v->defect[i]);
	json_close(j, ']');
	json_u64(j, "more_defects", v->more);
	json_close(j, '}');
}

void loss_json(struct json *j, const struct dep_loss *l)
{
	json_object(j, "loss");
	json_u64(j, "dropped_chunks", l->dropped_chunks);
	json_u64(j, "dropped_bytes", l->dropped_bytes);
	json_u64(j, "discarded_bytes", l->discarded_bytes);
	json_u64(j, "lost_threads", l->lost_threads);
	json_u64(j, "lost_processes", l->lost_processes);
	json_u64(j, "native_images", l->native_images);
	json_u64(j, "native_privileged", l->native_privileged);
	json_u64(j, "unwanted_children", l->unwanted_children);
	json_u64(j, "unfinished_threads", l->unfinished_threads);
	json_u64(j, "unfinished_processes", l->unclean);
	json_u64(j, "untaken_threads", l->untaken_threads);
	json_u64(j, "lost_descriptors", l->lost_descriptors);
	json_u64(j, "corrupt", l->corrupt);
	json_u64(j, "absent_chunks", l->absent_chunks);
	json_u64(j, "absent_bytes", l->absent_bytes);
	json_u64(j, "torn_segments", l->torn_segments);
	json_close(j, '}');
}
