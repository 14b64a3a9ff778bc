// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "libdep/format/file/remove.h"
#include "libdep/format/write/store_writer.h"
#include "internal.h"
#include "snapshot_store.h"

#define NICENESS	10	/* of the thread: the recorded program comes first */

struct dep_snapshot {
	struct dep_save save;
	char *dir;
	struct dep_kept kept;
	struct dep_ending ending;
	struct dep_saved saved;
	struct adept_session *wakeup;
	pthread_t thread;
	bool started;
	/* The thread writes @result, then sets @done. */
	struct dep_save_result result;
	bool done;
};

struct dep_snapshot *dep_snapshot_new(const struct dep_save *save, const struct dep_ending *ending)
{
	struct dep_snapshot *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->save = *save;
	s->kept = *save->kept;
	s->ending = *ending;
	s->dir = strdup(save->dir);
	if (!s->dir) {
		free(s);
		return NULL;
	}
	return s;
}

/* Store entries of processes and threads. */
static int put_jobs(struct dep_writer *w, struct dep_job *const *job, size_t n)
{
	size_t i;
	int err = 0;

	for (i = 0; i < n && !err; i++) {
		switch (job[i]->kind) {
		case DEP_JOB_PROCESS:
			err = dep_writer_process(w, &job[i]->process);
			break;
		case DEP_JOB_PROCESS_END:
			err = dep_writer_process_end(w, &job[i]->process);
			break;
		case DEP_JOB_THREAD:
			err = dep_writer_thread(w, &job[i]->thread);
			break;
		default:
			err = dep_writer_thread_end(w, &job[i]->thread);
			break;
		}
	}
	return err;
}

/* The descriptors were admitted before, so an error is one of the store. */
static int put_descriptors(struct dep_writer *w, const struct dep_batches *b)
{
	size_t i, at, size;
	int err = 0;

	for (i = 0; i < b->n && !err; i++)
		for (at = 0; !err && (size = dep_batch_run(b->row[i], &at)); at += size)
			err = dep_writer_descriptors(w, b->row[i]->process, b->row[i]->data + at,
						     size);
	return err;
}

/* Store the chunks, and drop each as soon as it is stored. */
static int put_chunks(struct dep_snapshot *s, struct dep_writer *w)
{
	struct dep_kept_chunk *k;
	size_t i;
	int err = 0;

	for (i = 0; i < s->saved.nchunks && !err; i++) {
		k = s->saved.chunk[i];
		err = dep_writer_segment(w, k->thread, &k->chunk, k->body);
		s->result.raw_bytes += k->chunk.fill;
		s->saved.chunk[i] = NULL;
		dep_kept_put(k);
	}
	return err;
}

static int put_all(struct dep_snapshot *s, struct dep_writer *w)
{
	struct dep_saved *saved = &s->saved;
	int err = put_jobs(w, saved->begin, saved->nbegin);

	if (!err)
		err = put_descriptors(w, &saved->descriptors);
	if (!err)
		err = dep_writer_last(w, &saved->last);
	if (!err)
		err = put_chunks(s, w);
	if (!err)
		err = put_jobs(w, saved->end, saved->nend);
	return err;
}

static int store_snapshot(struct dep_snapshot *s)
{
	struct dep_writer *w;
	int err, ret;

	err = dep_writer_create(&w, s->dir, s->save.meta, s->save.level);
	if (err)
		return err;
	err = put_all(s, w);
	s->result.stored_bytes = dep_writer_bytes(w);
	if (err) {
		snprintf(s->result.error, sizeof(s->result.error), "%s", dep_error());
		dep_writer_discard(w);
	} else {
		ret = dep_writer_close(w, &s->ending);
		/* 1: the store lacks a part that can be made again. */
		err = ret < 0 ? ret : 0;
	}
	if (err)
		dep_store_remove(s->dir);
	return err;
}

static void finish(struct dep_snapshot *s, int err)
{
	struct dep_save_result *r = &s->result;

	r->err = err;
	r->threads = (uint32_t)s->saved.last.nthreads;
	r->from_ns = s->saved.last.from_ns;
	if (err && !*r->error)
		snprintf(r->error, sizeof(r->error), "%s",
			 err == -ENOMEM || !*dep_error() ? strerror(-err) : dep_error());
	dep_saved_free(&s->saved);
	store(&s->done, true);
	__atomic_fetch_add(&s->wakeup->wakeup, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->wakeup->collector_waits, __ATOMIC_SEQ_CST))
		futex_wake(&s->wakeup->wakeup);
}

static void *run(void *arg)
{
	struct dep_snapshot *s = arg;

	setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
	finish(s, store_snapshot(s));
	return NULL;
}

void dep_snapshot_start(struct dep_snapshot *s, const struct dep_saved *saved,
			struct adept_session *wakeup)
{
	int err = saved ? 0 : ENOMEM;

	s->wakeup = wakeup;
	if (saved) {
		s->saved = *saved;
		s->saved.last.kept = s->kept;
		err = pthread_create(&s->thread, NULL, run, s);
		s->started = !err;
	}
	if (err)
		finish(s, -err);
}

bool dep_snapshot_done(struct dep_snapshot *s, struct dep_save_result *result)
{
	if (!load(&s->done))
		return false;
	*result = s->result;
	return true;
}

void dep_snapshot_free(struct dep_snapshot *s)
{
	if (!s)
		return;
	if (s->started)
		pthread_join(s->thread, NULL);
	dep_saved_free(&s->saved);
	free(s->dir);
	free(s);
}
