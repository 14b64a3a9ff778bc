// SPDX-License-Identifier: LGPL-2.1-or-later
/* Trims of a window: find out which threads and chunks still name removed fragments (trim.h). */
#include <errno.h>
#include <stdlib.h>

#include "window_disk.h"

bool dep_window_wants_trim(const struct dep_window *w)
{
	return __atomic_load_n(&w->wants_trim, __ATOMIC_ACQUIRE);
}

int dep_window_trim_begin(struct dep_window *w, u64 ns, const struct dep_trim_ops *ops)
{
	size_t i;

	__atomic_store_n(&w->wants_trim, false, __ATOMIC_RELEASE);
	dep_trim_free(w->trim);
	w->trim = dep_trim_begin(&w->fates, ns, ops);
	for (i = 0; i < w->threads.n; i++)
		w->threads.row[i].idle_ns = 0;
	return w->trim ? 0 : -ENOMEM;
}

void dep_window_trim_thread(struct dep_window *w, const struct dep_job *job)
{
	struct entry *t = dep_entries_find(&w->threads, job->serial);

	if (!t || !w->trim)
		return;
	t->idle_ns = job->upto;
	dep_trim_mark(w->trim, job->data, (u32)job->size, job->chunk.head.frag, 0);
}

/*
 * Mark what the chunks name. A chunk names nothing that was removed before the one before it began,
 * since a thread takes a record of a removed fragment at most to the next chunk.
 */
static int mark_chunks(struct dep_window *w)
{
	struct dep_body_buffer b = { 0 };
	struct dep_kept_chunk *k;
	const u8 *body;
	struct entry *t;
	int err = 0;

	for (k = w->oldest; k && !err; k = k->next) {
		t = dep_entries_find(&w->threads, k->thread);
		if (!t || t->before_ns <= w->trim->last_ns) {
			err = dep_kept_body(k, &b, &body);
			if (err)
				break;
			dep_trim_mark(w->trim, body, k->chunk.fill, k->chunk.head.frag,
				      k->chunk.tail.frag);
		}
		if (!t)
			continue;
		if (t->oldest_ns > k->chunk.start_ns)
			t->oldest_ns = k->chunk.start_ns;
		t->before_ns = k->chunk.start_ns;
	}
	free(b.data);
	return err;
}

int dep_window_trim_end(struct dep_window *w)
{
	struct entry *t;
	size_t i;
	u64 cutoff;
	int err;

	if (!w->trim)
		return 0;
	for (i = 0; i < w->threads.n; i++) {
		w->threads.row[i].before_ns = w->threads.row[i].dropped_ns;
		w->threads.row[i].oldest_ns = UINT64_MAX;
	}
	err = mark_chunks(w);
	if (err) {
		/* What a chunk names is not known, so drop nothing. */
		dep_trim_free(w->trim);
		w->trim = NULL;
		return err;
	}
	for (i = 0; i < w->threads.n; i++) {
		t = &w->threads.row[i];
		/* What it names later was removed after this time, or before it began. */
		cutoff = t->end ? w->trim->begin_ns : t->before_ns;
		if (!t->end && t->idle_ns > cutoff)
			cutoff = t->idle_ns;
		if (t->begin && t->begin->thread.start_ns > cutoff)
			cutoff = t->begin->thread.start_ns;
		dep_trim_thread(w->trim, t->owner, cutoff,
				t->oldest_ns < cutoff ? t->oldest_ns : cutoff);
	}
	dep_trim_end(w->trim, &w->descriptors);
	w->trim = NULL;
	dep_window_count_descriptors(w);
	return w->disk ? dep_disk_log_trim(w) : 0;
}
