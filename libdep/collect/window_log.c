// SPDX-License-Identifier: LGPL-2.1-or-later
/* window.log: what a window on the disk has besides chunks; see window_disk.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "libdep/format/file/error.h"
#include "libdep/format/write/frames.h"
#include "window_disk.h"

#define SLACK	(1u << 20)	/* bytes of a log that are not worth to be written anew */

static int put_frame(void *log, const struct dep_new_frame *f)
{
	return dep_log_append(log, f);
}

static int create(struct dep_log *l, const struct dep_store_dir *at, const char *name)
{
	struct dep_file_header h;
	int err = dep_file_create(&l->file, at->dirfd, name, DEP_LOG_MAGIC, 0, &at->fmt,
				  &at->access);

	if (err)
		return err;
	dep_file_header(&h, &at->fmt, DEP_LOG_MAGIC, 0);
	l->seed = at->fmt.seed;
	l->prev = h.check;
	l->frames = 0;
	return 0;
}

u64 dep_disk_log_live(const struct dep_window *w)
{
	return w->descriptors.bytes + w->processes.bytes + w->threads.bytes;
}

/* ---- frames ---- */

static int put_job(const struct dep_frame_to *to, const struct dep_job *job)
{
	struct dep_wire_tid_address a = { .serial = job->serial, .tid_address = job->tid_address };
	int err = 0;

	switch (job->kind) {
	case DEP_JOB_PROCESS:
		return dep_frame_process(to, &job->process);
	case DEP_JOB_PROCESS_END:
		return dep_frame_process_end(to, &job->process);
	case DEP_JOB_THREAD:
		return dep_frame_thread(to, &job->thread);
	default:
		if (job->tid_address)
			err = to->put(to->arg, &(struct dep_new_frame){
				.type = DEP_F_TID_ADDRESS, .data = &a, .size = sizeof(a),
			});
		return err ? err : dep_frame_thread_end(to, &job->thread, NULL);
	}
}

static int put_batch(const struct dep_frame_to *to, u32 process, const u8 *data, size_t size)
{
	return to->put(to->arg, &(struct dep_new_frame){
		.type = DEP_F_DESCRIPTORS, .process = process, .data = data, .size = size,
	});
}

static int put_entries(const struct dep_frame_to *to, const struct entries *e, bool last)
{
	const struct dep_job *job;
	size_t i;
	int err = 0;

	for (i = 0; i < e->n && !err; i++) {
		job = last ? e->row[i].end : e->row[i].begin;
		if (job)
			err = put_job(to, job);
	}
	return err;
}

static int put_last(const struct dep_frame_to *to, const struct dep_window *w)
{
	struct dep_last_thread *t = calloc(w->threads.n + 1, sizeof(*t));
	struct dep_last last;
	int err;

	if (!t)
		return dep_fail(-ENOMEM, "threads");
	dep_window_fill_dropped(w, &last, t);
	err = dep_frame_last(to, &last);
	free(t);
	return err;
}

/* All that the window has. */
static int put_all(const struct dep_frame_to *to, const struct dep_window *w)
{
	const struct dep_batches *b = &w->descriptors;
	int err = put_last(to, w);
	size_t i;

	if (!err)
		err = put_entries(to, &w->processes, false);
	if (!err)
		err = put_entries(to, &w->threads, false);
	for (i = 0; i < b->n && !err; i++)
		err = put_batch(to, b->row[i]->process, b->row[i]->data, b->row[i]->size);
	if (!err)
		err = put_entries(to, &w->threads, true);
	return err ? err : put_entries(to, &w->processes, true);
}

/* ---- a new log ---- */

static int replace(struct dep_window *w)
{
	struct dep_disk *d = w->disk;
	const int dirfd = d->at.dirfd;
	struct dep_log log;
	int err;

	/* One of a try before. */
	unlinkat(dirfd, DEP_WINDOW_NEW_LOG, 0);
	err = create(&log, &d->at, DEP_WINDOW_NEW_LOG);
	if (err)
		return err;
	err = put_all(&(struct dep_frame_to){ put_frame, &log }, w);
	if (!err && renameat(dirfd, DEP_WINDOW_NEW_LOG, dirfd, DEP_WINDOW_LOG))
		err = dep_fail(-errno, "cannot replace " DEP_WINDOW_LOG);
	if (err) {
		close(log.file.fd);
		unlinkat(dirfd, DEP_WINDOW_NEW_LOG, 0);
		return err;
	}
	close(d->log.file.fd);
	d->log = log;
	return 0;
}

int dep_disk_log_begin(struct dep_window *w)
{
	struct dep_disk *d = w->disk;
	int err = create(&d->log, &d->at, DEP_WINDOW_LOG);

	d->log_again = SLACK;
	return err ? err : put_last(&(struct dep_frame_to){ put_frame, &d->log }, w);
}

int dep_disk_log_trim(struct dep_window *w)
{
	struct dep_disk *d = w->disk;
	u64 live = dep_disk_log_live(w);
	int err;

	if (d->log.file.size < d->log_again || d->log.file.size < 2 * live + SLACK)
		return 0;
	err = replace(w);
	while (dep_disk_is_full(err) && dep_disk_shrink(w))
		err = replace(w);
	/* On a full disk the old log goes on. */
	d->log_again = (err ? d->log.file.size : live) + SLACK;
	return dep_disk_is_full(err) ? 0 : dep_disk_error(err);
}

/* ---- what is added to the window ---- */

/* Log @what; if the disk is full, with fewer chunks. */
static int put_anyway(struct dep_window *w, int (*put)(const struct dep_frame_to *, const void *),
		      const void *what)
{
	const struct dep_frame_to to = { put_frame, &w->disk->log };
	int err = put(&to, what);

	while (dep_disk_is_full(err) && dep_disk_shrink(w))
		err = put(&to, what);
	if (err)
		return err;
	dep_window_fit(w, 0);
	return dep_disk_log_trim(w);
}

static int put_one_job(const struct dep_frame_to *to, const void *what)
{
	return put_job(to, what);
}

int dep_disk_log_entry(struct dep_window *w, const struct dep_job *job)
{
	return put_anyway(w, put_one_job, job);
}

static int put_one_batch(const struct dep_frame_to *to, const void *what)
{
	const struct dep_new_frame *f = what;

	return to->put(to->arg, f);
}

int dep_disk_log_descriptors(struct dep_window *w, u32 process, const u8 *data, size_t size)
{
	return size ? put_anyway(w, put_one_batch, &(struct dep_new_frame){
		.type = DEP_F_DESCRIPTORS, .process = process, .data = data, .size = size,
	}) : 0;
}

void dep_disk_log_dropped(struct dep_window *w, const struct entry *t)
{
	struct dep_wire_last_thread r = {
		.serial = t->serial, .first = t->last.first, .chunks = t->last.chunks,
		.bytes = t->last.bytes,
	};

	/* Without it a number of dropped chunks is too small. */
	dep_log_append(&w->disk->log, &(struct dep_new_frame){
		.type = DEP_F_LAST_THREAD, .data = &r, .size = sizeof(r),
	});
}
