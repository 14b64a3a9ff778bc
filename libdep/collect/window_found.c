// SPDX-License-Identifier: LGPL-2.1-or-later
/* Read window.log of a window that is left. It may be forged: checksums prove nothing. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/codec/descriptor.h"
#include "libdep/format/file/error.h"
#include "window_found.h"

#define MAX_MOVES	(1ull << 30)	/* rows of tables that are moved at most */

static int open_log(const struct dep_found *f, struct dep_log_scan *s, const void *log,
		    size_t size)
{
	int err = dep_log_open(s, log, size);

	if (err)
		return dep_fail(err, DEP_WINDOW_LOG " is not the log of a window");
	if (s->fmt.version != f->at.fmt.version ||
	    memcmp(s->fmt.id, f->at.fmt.id, sizeof(s->fmt.id)))
		return dep_fail(-EBADMSG, DEP_WINDOW_LOG " belongs to another store");
	return 0;
}

/* Up to @rows rows are moved. */
static int count_moves(struct dep_found *f, size_t rows)
{
	f->moves += rows;
	return f->moves <= MAX_MOVES ? 0 :
	       dep_fail(-EBADMSG, DEP_WINDOW_LOG " has its entries in no order");
}

/* A row for @serial is added. */
static int count_row(struct dep_found *f, const struct entries *e, u32 serial)
{
	return count_moves(f, e->n && serial < e->row[e->n - 1].serial ? e->n : 0);
}

/* The text at @off in a payload; NULL if it does not end there. */
static const char *text_at(const struct dep_log_entry *fr, size_t off)
{
	const char *s = (const char *)fr->payload + off;

	return off < fr->size && memchr(s, '\0', fr->size - off) ? s : NULL;
}

static struct dep_job *new_job(enum dep_job_kind kind, u32 serial, size_t room)
{
	struct dep_job *job = calloc(1, sizeof(*job) + room);

	if (!job)
		return NULL;
	job->kind = kind;
	job->serial = serial;
	job->room = room;
	return job;
}

/* Pass @job to the window, and free it. */
static int enter(struct dep_found *f, struct dep_job *job)
{
	int err = job ? dep_window_entry(f->w, job) : -ENOMEM;

	free(job);
	return err == -ENOMEM ? dep_fail(err, DEP_WINDOW_LOG) : err;
}

/* ---- the first frame ---- */

static int take_last(struct dep_found *f, const struct dep_log_entry *fr)
{
	struct dep_wire_last l;

	if (fr->type != DEP_F_LAST || !dep_log_payload(fr, &l, sizeof(l), DEP_LAST_FIXED))
		return dep_fail(-EBADMSG, DEP_WINDOW_LOG " does not say what was dropped");
	f->w->dropped = (struct dep_last){
		.max_bytes = l.max_bytes, .max_ns = l.max_ns, .from_ns = l.from_ns,
		.from_timestamp = l.from_timestamp, .chunks = l.chunks, .bytes = l.bytes,
		.processes = l.processes, .threads = l.threads,
	};
	return 0;
}

/* A thread's last chunk was dropped, unless there is one. */
static void take_last_thread(struct dep_found *f, const struct dep_log_entry *fr)
{
	struct dep_wire_last_thread r;
	struct entry *t;

	if (!dep_log_payload(fr, &r, sizeof(r), sizeof(r)))
		return;
	t = dep_entries_find(&f->w->threads, r.serial);
	if (t && !t->chunks && r.first >= t->last.first)
		t->last = (struct dep_last_thread){
			.first = r.first, .chunks = r.chunks, .bytes = r.bytes,
		};
}

/* What was dropped of each thread, when the window has the threads. */
static void take_last_threads(struct dep_found *f, const struct dep_log_entry *fr)
{
	const struct dep_wire_last *l = fr->payload;
	struct dep_wire_last_thread r;
	struct entry *t;
	u32 i;

	if (l->fixed > fr->size || l->rows > (fr->size - l->fixed) / sizeof(r))
		return;
	for (i = 0; i < l->rows; i++) {
		memcpy(&r, (const char *)fr->payload + l->fixed + i * sizeof(r), sizeof(r));
		t = dep_entries_find(&f->w->threads, r.serial);
		if (t)
			t->last = (struct dep_last_thread){
				.first = r.first, .chunks = r.chunks, .bytes = r.bytes,
			};
	}
}

/* ---- processes, threads and descriptors ---- */

static int take_process(struct dep_found *f, const struct dep_log_entry *fr)
{
	const char *exe = text_at(fr, sizeof(struct dep_wire_process));
	size_t texts = fr->size - sizeof(struct dep_wire_process);
	struct dep_wire_process r;
	struct dep_job *job;

	if (!dep_log_payload(fr, &r, sizeof(r), sizeof(r)) ||
	    dep_entries_find(&f->w->processes, r.serial))
		return 0;
	if (count_row(f, &f->w->processes, r.serial))
		return -EBADMSG;
	job = new_job(DEP_JOB_PROCESS, r.serial, texts + 1);
	if (!job)
		return enter(f, job);
	memcpy(job->data, (const char *)fr->payload + sizeof(r), texts);
	job->process = (struct dep_process){
		.serial = r.serial, .pid = r.pid, .parent = r.parent, .cause = r.cause,
		.start_ns = r.start_ns, .end_ns = r.end_ns,
	};
	if (exe && *exe)
		job->process.exe = (const char *)job->data;
	/* The command line follows; each of its arguments ends with a NUL byte. */
	if (exe && strlen(exe) + 1 < texts && !job->data[texts - 1]) {
		job->process.cmdline = (const char *)job->data + strlen(exe) + 1;
		job->process.cmdline_size = texts - strlen(exe) - 1;
	}
	return enter(f, job);
}

static int take_thread(struct dep_found *f, const struct dep_log_entry *fr)
{
	struct dep_wire_thread r;
	struct dep_job *job;

	if (!dep_log_payload(fr, &r, sizeof(r), offsetof(struct dep_wire_thread, end)) ||
	    dep_entries_find(&f->w->threads, r.serial))
		return 0;
	if (count_row(f, &f->w->threads, r.serial))
		return -EBADMSG;
	job = new_job(DEP_JOB_THREAD, r.serial, 0);
	if (job)
		job->thread = (struct dep_thread){
			.serial = r.serial, .tid = r.tid, .process = r.process,
			.parent = r.parent, .start_ns = r.start_ns,
		};
	return enter(f, job);
}

static int take_descriptors(struct dep_found *f, const struct dep_log_entry *fr)
{
	const u8 *data = fr->payload;
	size_t at, n;

	if (!dep_entries_find(&f->w->processes, fr->process)) {
		f->lost_descriptors++;
		return 0;
	}
	for (at = 0; at < fr->size; at += n) {
		n = dep_desc_next(data + at, fr->size - at);
		if (!n || dep_desc_check((const void *)(data + at))) {
			f->lost_descriptors++;
			break;
		}
	}
	return dep_window_descriptors(f->w, fr->process, data, at, 0);
}

static int take_begin(struct dep_found *f, const struct dep_log_entry *fr)
{
	switch (fr->type) {
	case DEP_F_PROCESS:
		return take_process(f, fr);
	case DEP_F_THREAD:
		return take_thread(f, fr);
	case DEP_F_DESCRIPTORS:
		return take_descriptors(f, fr);
	}
	return 0;
}

int dep_found_log(struct dep_found *f, const void *log, size_t size)
{
	struct dep_log_entry first = { 0 };
	const struct dep_log_entry *fr;
	struct dep_log_scan s;
	int err = open_log(f, &s, log, size);

	if (err)
		return err;
	while (!err && (fr = dep_log_next(&s))) {
		if (s.frames == 1) {
			first = *fr;
			err = take_last(f, fr);
		} else {
			err = take_begin(f, fr);
		}
	}
	if (err)
		return err;
	if (s.gave_up || !s.frames)
		return dep_fail(-EBADMSG, DEP_WINDOW_LOG " is damaged in too many places");
	/* An unfinished frame at the end was not written yet when the collector was killed. */
	f->lost_descriptors += s.breaks;
	take_last_threads(f, &first);
	return 0;
}

/* ---- ends ---- */

static int end_process(struct dep_found *f, const struct dep_log_entry *fr)
{
	struct dep_wire_process_end r;
	struct dep_job *job;

	if (!dep_log_payload(fr, &r, sizeof(r), sizeof(r)))
		return 0;
	job = new_job(DEP_JOB_PROCESS_END, r.serial, 0);
	if (job)
		job->process = (struct dep_process){
			.serial = r.serial, .end_ns = r.end_ns, .built = r.built,
			.translate_ns = r.translate_ns,
		};
	return enter(f, job);
}

static int end_thread(struct dep_found *f, const struct dep_log_entry *fr,
		      const struct dep_wire_tid_address *a)
{
	const char *name = text_at(fr, sizeof(struct dep_wire_thread));
	struct dep_wire_thread r;
	struct dep_job *job;

	if (!dep_log_payload(fr, &r, sizeof(r), sizeof(r)))
		return 0;
	job = new_job(DEP_JOB_THREAD_END, r.serial, name ? strlen(name) + 1 : 0);
	if (!job)
		return enter(f, job);
	job->thread = (struct dep_thread){
		.serial = r.serial, .tid = r.tid, .process = r.process, .parent = r.parent,
		.start_ns = r.start_ns, .end_ns = r.end_ns, .flushes = r.flushes,
		.null_bytes = r.null_bytes,
		.end = r.end < DEP_THREAD_ENDS ? r.end : DEP_END_UNKNOWN,
	};
	if (name)
		job->thread.name = strcpy((char *)job->data, name);
	if (a->serial == r.serial)
		job->tid_address = a->tid_address;
	return enter(f, job);
}

int dep_found_ends(struct dep_found *f, const void *log, size_t size)
{
	struct dep_wire_tid_address a = { 0 };
	const struct dep_log_entry *fr;
	struct dep_log_scan s;
	size_t rows = 0;
	int err = open_log(f, &s, log, size);

	while (!err && (fr = dep_log_next(&s))) {
		rows = f->w->threads.n + f->w->processes.n;
		switch (fr->type) {
		case DEP_F_LAST_THREAD:
			take_last_thread(f, fr);
			break;
		case DEP_F_TID_ADDRESS:
			if (!dep_log_payload(fr, &a, sizeof(a), sizeof(a)))
				a.serial = 0;
			break;
		case DEP_F_THREAD_END:
			err = end_thread(f, fr, &a);
			break;
		case DEP_F_PROCESS_END:
			err = end_process(f, fr);
			break;
		}
		/* What has ended and has no chunk is forgotten. */
		if (!err && rows != f->w->threads.n + f->w->processes.n)
			err = count_moves(f, rows);
	}
	return err;
}
