// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libdep/format/file/error.h"
#include "libdep/format/file/remove.h"
#include "libdep/format/write/store_dir.h"
#include "libdep/format/write/store_writer.h"
#include "saved_store.h"

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

/* True if only this chunk is lost: its file is damaged, or was changed. */
static bool is_one_chunk(int err)
{
	return err == -EBADMSG || err == -EIO || err == -EINVAL;
}

/* Store the chunks, and drop each as soon as it is stored. @lost: bytes that were not read. */
static int put_chunks(struct dep_saved *s, struct dep_writer *w, u64 *stored, u64 *lost)
{
	struct dep_body_buffer b = { 0 };
	struct dep_kept_chunk *k;
	const u8 *body;
	size_t i;
	int err = 0;

	*stored = *lost = 0;
	for (i = 0; i < s->nchunks && !err; i++) {
		k = s->chunk[i];
		err = dep_kept_body(k, &b, &body);
		if (err && is_one_chunk(err)) {
			*lost += k->chunk.fill;
			err = 0;
		} else if (!err) {
			err = dep_writer_segment(w, k->thread, &k->chunk, body);
			*stored += err ? 0 : k->chunk.fill;
		}
		s->chunk[i] = NULL;
		dep_kept_put(k);
	}
	free(b.data);
	return err;
}

/* Say that chunks could not be read, before the end of the store. */
static int note_lost(struct dep_writer *w, u64 lost)
{
	char text[128];

	if (!lost)
		return 0;
	snprintf(text, sizeof(text), "%" PRIu64 " bytes of the window's files are damaged and were "
		 "not stored", lost);
	return dep_writer_message(w, text);
}

static int put_all(struct dep_saved *s, struct dep_writer *w, struct dep_ending *ending,
		   struct dep_save_result *r)
{
	u64 lost = 0;
	int err = put_jobs(w, s->begin, s->nbegin);

	if (!err)
		err = put_descriptors(w, &s->descriptors);
	if (!err)
		err = dep_writer_last(w, &s->last);
	if (!err)
		err = put_chunks(s, w, &r->raw_bytes, &lost);
	ending->loss.discarded_bytes += lost;
	if (!err)
		err = note_lost(w, lost);
	return err ? err : put_jobs(w, s->end, s->nend);
}

int dep_saved_store(struct dep_saved *s, const struct dep_save *save, struct dep_ending *ending,
		    struct dep_save_result *r)
{
	struct dep_store_dir made = { .dirfd = -1 };
	struct dep_writer *w;
	int err, ret;

	r->threads = (uint32_t)s->last.nthreads;
	r->from_ns = s->last.from_ns;
	err = dep_writer_create(&w, save->dir, save->meta, save->level);
	if (err)
		return err;
	/* By its descriptor: another directory may get its name at any time. */
	err = dep_writer_dir(w, &made);
	if (!err)
		err = put_all(s, w, ending, r);
	r->stored_bytes = dep_writer_bytes(w);
	if (err) {
		snprintf(r->error, sizeof(r->error), "%s", dep_error());
		dep_writer_discard(w);
	} else {
		ret = dep_writer_close(w, ending);
		/* 1: the store lacks a part that can be made again. */
		err = ret < 0 ? ret : 0;
	}
	if (err && made.dirfd >= 0)
		dep_store_remove_open(made.dirfd, save->dir);
	else if (made.dirfd >= 0)
		close(made.dirfd);
	return err;
}
