// SPDX-License-Identifier: LGPL-2.1-or-later
/* The end of a recording: put all that a window has into the queue, in the order of a store. */
#include <errno.h>

#include "window_disk.h"

/* Called by a writer thread when the chunk is in the store. */
static void chunk_stored(struct dep_job *job)
{
	if (job->kept)
		dep_disk_stored(job->kept, job->ret);
	dep_kept_put(job->owner);
}

static int put_chunk(struct dep_queue *q, struct dep_kept_chunk *k)
{
	struct dep_job *job = dep_queue_job(q, DEP_JOB_SEGMENT, 0);

	if (!job)
		return -ENOMEM;
	job->serial = k->thread;
	job->chunk = k->chunk;
	job->size = k->chunk.fill;
	if (k->file)
		job->kept = k;
	else
		job->body = k->body;
	job->owner = k;
	job->done = chunk_stored;
	dep_queue_put(q, job);
	return 0;
}

void dep_window_fill_dropped(const struct dep_window *w, struct dep_last *last,
			 struct dep_last_thread *t)
{
	size_t i;

	*last = w->dropped;
	last->thread = t;
	last->nthreads = w->threads.n;
	for (i = 0; i < w->threads.n; i++) {
		t[i] = w->threads.row[i].last;
		t[i].thread = w->threads.row[i].serial;
		if (w->threads.row[i].end)
			t[i].tid_address = w->threads.row[i].end->tid_address;
	}
}

static int put_dropped(struct dep_window *w, struct dep_queue *q)
{
	struct dep_job *job = dep_queue_job(q, DEP_JOB_LAST,
					    w->threads.n * sizeof(struct dep_last_thread));

	if (!job)
		return -ENOMEM;
	dep_window_fill_dropped(w, &job->last, (struct dep_last_thread *)job->data);
	dep_queue_put(q, job);
	return 0;
}

/* Called by a writer thread when the descriptors are in the store. */
static void batch_stored(struct dep_job *job)
{
	dep_batch_put(job->owner);
}

static int put_batch(struct dep_queue *q, struct dep_batch *batch)
{
	struct dep_job *job;
	size_t at, size;

	for (at = 0; (size = dep_batch_run(batch, &at)); at += size) {
		job = dep_queue_job(q, DEP_JOB_LOG, 0);
		if (!job)
			return -ENOMEM;
		job->serial = batch->process;
		job->body = batch->data + at;
		job->size = size;
		job->owner = batch;
		job->done = batch_stored;
		__atomic_fetch_add(&batch->refs, 1, __ATOMIC_RELAXED);
		dep_queue_put(q, job);
	}
	return 0;
}

static int put_descriptors(struct dep_window *w, struct dep_queue *q)
{
	struct dep_batches *b = &w->descriptors;
	size_t i;
	int err = 0;

	for (i = 0; i < b->n && !err; i++)
		err = put_batch(q, b->row[i]);
	if (!err)
		dep_batches_drop(b);
	return err;
}

/* Put the first or last jobs of all entries into @q, which then owns them. */
static void put_entries(struct entries *e, struct dep_queue *q, bool last)
{
	struct dep_job **job;
	size_t i;

	for (i = 0; i < e->n; i++) {
		job = last ? &e->row[i].end : &e->row[i].begin;
		if (*job)
			dep_queue_put(q, *job);
		*job = NULL;
	}
}

int dep_window_empty(struct dep_window *w, struct dep_queue *q)
{
	struct dep_kept_chunk *k;
	int err;

	if (w->disk)
		dep_disk_storing(w);
	put_entries(&w->processes, q, false);
	err = put_descriptors(w, q);
	put_entries(&w->threads, q, false);
	if (!err)
		err = put_dropped(w, q);
	while (!err && (k = w->oldest)) {
		w->oldest = k->next;
		err = put_chunk(q, k);
		if (err)
			w->oldest = k;
	}
	w->newest = &w->oldest;
	put_entries(&w->threads, q, true);
	put_entries(&w->processes, q, true);
	return err;
}
