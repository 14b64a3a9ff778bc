// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The processes and threads that a window knows. One is forgotten when it has ended and nothing in
 * the window needs it any more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "window_disk.h"

/* Index of @serial, or where it would be. Serials mostly ascend, so look at the end first. */
static size_t place_of(const struct entries *e, u32 serial)
{
	size_t low = 0, high = e->n, half;

	if (!e->n || e->row[e->n - 1].serial < serial)
		return e->n;
	while (low < high) {
		half = low + (high - low) / 2;
		if (e->row[half].serial < serial)
			low = half + 1;
		else
			high = half;
	}
	return low;
}

struct entry *dep_entries_find(const struct entries *e, u32 serial)
{
	size_t i = place_of(e, serial);

	return i < e->n && e->row[i].serial == serial ? &e->row[i] : NULL;
}

static struct entry *insert(struct entries *e, u32 serial)
{
	size_t i = place_of(e, serial), room = e->room ? 2 * e->room : 64;
	struct entry *more;

	if (i < e->n && e->row[i].serial == serial)
		return &e->row[i];
	if (e->n == e->room) {
		more = realloc(e->row, room * sizeof(*more));
		if (!more)
			return NULL;
		e->row = more;
		e->room = room;
	}
	memmove(&e->row[i + 1], &e->row[i], (e->n++ - i) * sizeof(*e->row));
	memset(&e->row[i], 0, sizeof(e->row[i]));
	e->row[i].serial = serial;
	e->bytes += sizeof(*e->row);
	return &e->row[i];
}

/* Memory for a job, with the overhead of malloc(). */
static u64 cost_of_job(const struct dep_job *job)
{
	return job ? sizeof(*job) + job->room + 16 : 0;
}

static void delete(struct entries *e, struct entry *row)
{
	e->bytes -= sizeof(*row) + cost_of_job(row->begin) + cost_of_job(row->end);
	free(row->begin);
	free(row->end);
	e->n--;
	memmove(row, row + 1, (size_t)(e->row + e->n - row) * sizeof(*row));
}

/* Forget process @serial, and those that it was forked from, if nothing holds them any more. */
static void release_process(struct dep_window *w, u32 serial)
{
	struct entry *p;

	while ((p = dep_entries_find(&w->processes, serial)) && p->end && !p->holders) {
		dep_batches_forget(&w->descriptors, serial);
		dep_fates_forget(&w->fates, serial);
		dep_window_count_descriptors(w);
		serial = p->owner;
		delete(&w->processes, p);
		w->dropped.processes++;
		p = dep_entries_find(&w->processes, serial);
		if (p)
			p->holders--;
	}
}

void dep_window_release_thread(struct dep_window *w, struct entry *t)
{
	struct entry *p = dep_entries_find(&w->processes, t->owner);

	if (!t->end || t->holders)
		return;
	delete(&w->threads, t);
	w->dropped.threads++;
	if (!p)
		return;
	p->holders--;
	release_process(w, p->serial);
}

/* A text of job @from, at the same place in its copy @to. */
static const char *moved(const char *text, const struct dep_job *from, struct dep_job *to)
{
	return text ? (const char *)to->data + (text - (const char *)from->data) : NULL;
}

struct dep_job *dep_job_copy(const struct dep_job *from)
{
	struct dep_job *job = malloc(sizeof(*job) + from->room);

	if (!job)
		return NULL;
	memcpy(job, from, sizeof(*job) + from->room);
	job->next = NULL;
	job->done = NULL;
	job->state = 0;
	if (job->kind == DEP_JOB_PROCESS) {
		job->process.exe = moved(from->process.exe, from, job);
		job->process.cmdline = moved(from->process.cmdline, from, job);
	} else if (job->kind == DEP_JOB_THREAD_END || job->kind == DEP_JOB_SAVE_END) {
		job->thread.name = moved(from->thread.name, from, job);
	}
	return job;
}

/* Begin the entry of @job, held by no one, which holds @owner in @owners. */
static int begin(struct entries *e, const struct dep_job *job, struct entries *owners, u32 owner)
{
	struct entry *row = insert(e, job->serial), *o;

	if (!row)
		return -ENOMEM;
	row->owner = owner;
	row->begin = dep_job_copy(job);
	e->bytes += cost_of_job(row->begin);
	o = owner ? dep_entries_find(owners, owner) : NULL;
	if (o)
		o->holders++;
	else
		row->owner = 0;
	return row->begin ? 0 : -ENOMEM;
}

static int add_entry(struct dep_window *w, const struct dep_job *job)
{
	bool thread = job->kind == DEP_JOB_THREAD || job->kind == DEP_JOB_THREAD_END;
	struct entries *e = thread ? &w->threads : &w->processes;
	struct entry *row;

	if (job->kind == DEP_JOB_THREAD)
		return begin(e, job, &w->processes, job->thread.process);
	if (job->kind == DEP_JOB_PROCESS && job->process.cause != ADEPT_BY_FORK)
		return begin(e, job, e, 0);
	if (job->kind == DEP_JOB_PROCESS)
		return dep_fates_inherits(&w->fates, job->serial) ? -ENOMEM :
		       begin(e, job, e, job->process.parent);
	row = dep_entries_find(e, job->serial);
	if (!row || row->end)
		return 0;
	row->end = dep_job_copy(job);
	if (!row->end)
		return -ENOMEM;
	e->bytes += cost_of_job(row->end);
	if (thread)
		dep_window_release_thread(w, row);
	else
		release_process(w, job->serial);
	return 0;
}

int dep_window_entry(struct dep_window *w, const struct dep_job *job)
{
	int err = add_entry(w, job), big = dep_window_count_descriptors(w);

	if (!err && w->disk)
		err = dep_disk_log_entry(w, job);
	return err ? err : big;
}

void dep_entries_free(struct entries *e)
{
	size_t i;

	for (i = 0; i < e->n; i++) {
		free(e->row[i].begin);
		free(e->row[i].end);
	}
	free(e->row);
}
