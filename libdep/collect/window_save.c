// SPDX-License-Identifier: LGPL-2.1-or-later
/* Snapshots: what a window has at one moment, shared with it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "window_parts.h"

int dep_window_save_chunk(struct dep_window *w, const struct dep_job *job, struct dep_moment now)
{
	struct saving *s = &w->saving;
	struct dep_kept_chunk *k = dep_window_copy_chunk(w, job, now);

	if (!k) {
		s->failed = true;
		return -ENOMEM;
	}
	*s->last = k;
	s->last = &k->next;
	s->nchunks++;
	return 0;
}

int dep_window_save_end(struct dep_window *w, const struct dep_job *job)
{
	struct saving *s = &w->saving;
	size_t room = s->room ? 2 * s->room : 16;
	struct dep_job **more;

	if (s->nend == s->room) {
		more = realloc(s->end, room * sizeof(*more));
		if (!more)
			goto fail;
		s->end = more;
		s->room = room;
	}
	s->end[s->nend] = dep_job_copy(job);
	if (!s->end[s->nend])
		goto fail;
	s->nend++;
	return 0;

fail:
	s->failed = true;
	return -ENOMEM;
}

/* Append copies of the first or last jobs of all entries. */
static int copy_entries(const struct entries *e, bool last, struct dep_job **to, size_t *n)
{
	const struct dep_job *job;
	size_t i;

	for (i = 0; i < e->n; i++) {
		job = last ? e->row[i].end : e->row[i].begin;
		if (!job)
			continue;
		to[*n] = dep_job_copy(job);
		if (!to[*n])
			return -ENOMEM;
		++*n;
	}
	return 0;
}

/* The ends of threads, those that go on included, and of processes. */
static int save_ends(struct dep_window *w, struct dep_saved *out)
{
	struct saving *s = &w->saving;
	int err;

	out->end = calloc(w->processes.n + w->threads.n + s->nend + 1, sizeof(*out->end));
	if (!out->end)
		return -ENOMEM;
	err = copy_entries(&w->threads, true, out->end, &out->nend);
	if (err)
		return err;
	if (s->nend)
		memcpy(out->end + out->nend, s->end, s->nend * sizeof(*s->end));
	out->nend += s->nend;
	s->nend = 0;
	return copy_entries(&w->processes, true, out->end, &out->nend);
}

static int save_chunks(struct dep_window *w, struct dep_saved *out)
{
	struct saving *s = &w->saving;
	struct dep_kept_chunk *k;

	out->chunk = calloc(w->nchunks + s->nchunks + 1, sizeof(*out->chunk));
	if (!out->chunk)
		return -ENOMEM;
	for (k = w->oldest; k; k = k->next) {
		dep_kept_get(k);
		out->chunk[out->nchunks++] = k;
	}
	for (k = s->first; k; k = k->next)
		out->chunk[out->nchunks++] = k;
	s->first = NULL;
	return 0;
}

void dep_window_clear_saving(struct saving *s)
{
	dep_kept_put_list(s->first);
	while (s->nend)
		free(s->end[--s->nend]);
	free(s->end);
	*s = (struct saving){ .last = &s->first };
}

int dep_window_save(struct dep_window *w, struct dep_saved *out)
{
	int err = w->saving.failed ? -ENOMEM : 0;
	struct dep_last_thread *t;

	*out = (struct dep_saved){ 0 };
	t = calloc(w->threads.n + 1, sizeof(*t));
	out->begin = calloc(w->processes.n + w->threads.n + 1, sizeof(*out->begin));
	if (!t || !out->begin)
		err = -ENOMEM;
	if (t)
		dep_window_fill_dropped(w, &out->last, t);
	if (!err)
		err = copy_entries(&w->processes, false, out->begin, &out->nbegin);
	if (!err)
		err = copy_entries(&w->threads, false, out->begin, &out->nbegin);
	if (!err)
		err = dep_batches_share(&w->descriptors, &out->descriptors);
	if (!err)
		err = save_ends(w, out);
	if (!err)
		err = save_chunks(w, out);
	dep_window_clear_saving(&w->saving);
	if (err)
		dep_saved_free(out);
	return err;
}

static void free_jobs(struct dep_job **job, size_t n)
{
	while (n)
		free(job[--n]);
	free(job);
}

void dep_saved_free(struct dep_saved *s)
{
	free_jobs(s->begin, s->nbegin);
	free_jobs(s->end, s->nend);
	while (s->nchunks)
		if (s->chunk[--s->nchunks])
			dep_kept_put(s->chunk[s->nchunks]);
	free(s->chunk);
	dep_batches_drop(&s->descriptors);
	free((void *)s->last.thread);
	*s = (struct dep_saved){ 0 };
}
