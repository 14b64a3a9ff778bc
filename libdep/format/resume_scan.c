// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "desc.h"
#include "error.h"
#include "pack.h"
#include "resume_scan.h"

/* The row of @serial, with which each begins, in a table sorted by it; made if need be. */
static void *row_of(struct dep_table *t, size_t size, u32 serial)
{
	size_t lo = 0, hi = t->n, mid;
	char *row;
	u32 has;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		memcpy(&has, (char *)t->row + mid * size, sizeof(has));
		if (has == serial)
			return (char *)t->row + mid * size;
		if (has < serial)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!dep_table_add(t, size))
		return NULL;
	row = (char *)t->row + lo * size;
	memmove(row + size, row, (t->n - 1 - lo) * size);
	memset(row, 0, size);
	memcpy(row, &serial, sizeof(serial));
	return row;
}

static struct dep_resume_process *process_of(struct dep_resume_scan *s, u32 serial)
{
	return row_of(&s->processes, sizeof(struct dep_resume_process), serial);
}

static struct dep_resume_thread *thread_of(struct dep_resume_scan *s, u32 serial)
{
	return row_of(&s->threads, sizeof(struct dep_resume_thread), serial);
}

/* ---- the log ---- */

/* What a reader skips is skipped here, too. */
static int take_descriptors(struct dep_resume_scan *s, const struct dep_frame *fr)
{
	struct dep_resume_process *p = process_of(s, fr->process);
	const u8 *data = (const u8 *)(fr + 1);
	size_t left = fr->size, good, n;
	int err, stop = 0;

	if (!p)
		return -ENOMEM;
	p->desc_bytes += fr->size;
	for (; left; data += n, left -= n) {
		err = dep_writer_admit(s->w, data, left, &good);
		if (err && err != -EBADMSG)
			return err;
		if (good && s->descriptors)
			stop = s->descriptors(s->arg, data, good);
		if (stop)
			return stop;
		n = good + dep_desc_next(data + good, left - good);
		if (n == good)
			break;
	}
	return 0;
}

static int take_process(struct dep_resume_scan *s, const struct dep_frame *fr)
{
	struct dep_resume_process *p;
	struct dep_wire_process w;

	if (!dep_frame_payload(fr, &w, sizeof(w), sizeof(w)))
		return 0;
	p = process_of(s, w.serial);
	if (!p)
		return -ENOMEM;
	p->pid = w.pid;
	return 0;
}

static int take_process_end(struct dep_resume_scan *s, const struct dep_frame *fr)
{
	struct dep_resume_process *p;
	struct dep_wire_process_end w;

	if (!dep_frame_payload(fr, &w, sizeof(w), offsetof(struct dep_wire_process_end, built)))
		return 0;
	p = process_of(s, w.serial);
	if (!p)
		return -ENOMEM;
	p->ended = true;
	return 0;
}

static int take_thread(struct dep_resume_scan *s, const struct dep_frame *fr)
{
	struct dep_resume_thread *t;
	struct dep_wire_thread w;

	if (!dep_frame_payload(fr, &w, sizeof(w), offsetof(struct dep_wire_thread, end)))
		return 0;
	t = thread_of(s, w.serial);
	if (!t)
		return -ENOMEM;
	t->tid = w.tid;
	t->process = w.process;
	t->ended |= fr->type == DEP_F_THREAD_END;
	return 0;
}

static int take_frame(struct dep_resume_scan *s, const struct dep_frame *fr)
{
	s->r->ending = fr->type == DEP_F_END;
	if (fr->type != DEP_F_BUILD_ID)
		s->last = fr->type == DEP_F_DESCRIPTORS ? fr : NULL;
	switch (fr->type) {
	case DEP_F_DESCRIPTORS:
		return take_descriptors(s, fr);
	case DEP_F_PROCESS:
		return take_process(s, fr);
	case DEP_F_PROCESS_END:
		return take_process_end(s, fr);
	case DEP_F_THREAD:
	case DEP_F_THREAD_END:
		return take_thread(s, fr);
	}
	return 0;
}

int dep_resume_log(struct dep_resume_scan *s)
{
	const struct dep_frame *fr;
	struct dep_log_scan scan;
	size_t size;
	int err;

	err = dep_read_fd(s->w->log.fd, DEP_LOG_NAME, &s->log, &size);
	if (err)
		return err;
	s->log_size = size;
	err = dep_log_open(&scan, s->log, size);
	if (err)
		return err;
	s->log_end = scan.at;
	while ((fr = dep_log_next(&scan))) {
		err = take_frame(s, fr);
		if (err)
			return err;
		s->log_end = (const u8 *)fr - scan.data + dep_align8(sizeof(*fr) + fr->size);
	}
	/* There may be good frames behind, and a reader would not find those to come. */
	if (scan.gave_up)
		return dep_fail(-EBADMSG, "%s is damaged in too many places", DEP_LOG_NAME);
	s->r->bad_bytes = scan.bad_bytes;
	if (size > s->log_end) {
		s->r->cut_log = size - s->log_end;
		s->r->bad_bytes -= s->r->cut_log;
	}
	return 0;
}

/* Whether @map's build-id is in the frames behind s->last. */
static bool has_build_id(const struct dep_resume_scan *s, const struct adept_desc_map *map)
{
	const char *path = (const char *)(map + 1), *id;
	const struct dep_wire_build_id *b;
	const struct dep_frame *fr;
	struct dep_log_scan scan;
	size_t n;

	dep_log_open(&scan, s->log, s->log_end);
	scan.at = (const u8 *)s->last - scan.data + dep_align8(sizeof(*fr) + s->last->size);
	while ((fr = dep_log_next(&scan))) {
		b = (const void *)(fr + 1);
		id = (const char *)(b + 1);
		if (fr->size <= sizeof(*b) || b->dev != map->dev || b->inode != map->inode)
			continue;
		n = strnlen(id, fr->size - sizeof(*b)) + 1;
		/* The file has 16 zero bytes behind it in memory. */
		if (sizeof(*b) + n < fr->size && !strcmp(id + n, path))
			return true;
	}
	return false;
}

int dep_resume_build_ids(struct dep_resume_scan *s)
{
	const struct adept_desc *h;
	size_t left, n;
	int err = 0;

	if (!s->last)
		return 0;
	h = (const void *)(s->last + 1);
	for (left = s->last->size; left && !err; left -= n) {
		n = dep_desc_next(h, left);
		if (!n)
			break;
		if (h->type == ADEPT_DESC_MAP && !dep_desc_check(h) &&
		    !has_build_id(s, (const void *)h))
			err = dep_writer_build_id(s->w, s->last->process, (const void *)h);
		h = (const void *)((const char *)h + n);
	}
	return err;
}

/* ---- the segments ---- */

static int by_thread_seq(const void *pa, const void *pb)
{
	const struct dep_segment *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static int take_segments(struct dep_resume_scan *s)
{
	struct dep_seg_list *l = &s->list;
	struct dep_resume_thread *t;
	size_t i;

	if (l->n)
		qsort(l->seg, l->n, sizeof(*l->seg), by_thread_seq);
	for (i = 0; i < l->n; i++) {
		if (i + 1 < l->n && l->seg[i + 1].thread == l->seg[i].thread)
			continue;
		t = thread_of(s, l->seg[i].thread);
		if (!t)
			return -ENOMEM;
		if (t->next_seq <= l->seg[i].seq)
			t->next_seq = l->seg[i].seq + 1;
	}
	return 0;
}

static u64 end_of(const struct dep_seg_list *l)
{
	const struct dep_segment *g = l->n ? &l->seg[l->n - 1] : NULL;

	return g ? g->offset + g->stored_bytes : sizeof(struct dep_file_header);
}

/* Take those off the list's end that are not there as a whole. */
static int drop_unfinished(struct dep_seg_list *l, int fd)
{
	struct dep_columns c = { 0 };
	int err = 0;

	for (; l->n; l->n--) {
		err = dep_seg_read(fd, &l->seg[l->n - 1], false, &c);
		if (err != -EBADMSG)
			break;
		l->lost_bytes -= c.h.lost_bytes;
		err = 0;
	}
	dep_columns_free(&c);
	return err;
}

int dep_resume_segments(struct dep_resume_scan *s, int fd, u32 number, u64 size, bool last)
{
	struct dep_seg_list *l = &s->list;
	int err;

	l->n = 0;
	l->torn = 0;
	l->lost_bytes = 0;
	err = dep_seg_scan(fd, number, 0, l);
	if (err)
		return err;
	if (last) {
		/* What is behind the last header counts as one torn place, but is cut off. */
		if (size > end_of(l))
			l->torn--;
		err = drop_unfinished(l, fd);
		if (err)
			return err;
		s->seg_end = end_of(l);
		if (size > s->seg_end)
			s->r->cut_segments = size - s->seg_end;
	}
	if (!l->n && dep_seg_file_check(fd))
		return dep_fail(-EBADMSG, DEP_SEG_NAME " is no file of segments", number);
	s->r->torn += l->torn;
	s->w->discarded_bytes += l->lost_bytes;
	return take_segments(s);
}

void dep_resume_scan_free(struct dep_resume_scan *s, bool keep)
{
	free(s->log);
	free(s->list.seg);
	if (keep) {
		s->r->process = s->processes.row;
		s->r->nprocesses = s->processes.n;
		s->r->thread = s->threads.row;
		s->r->nthreads = s->threads.n;
		return;
	}
	free(s->processes.row);
	free(s->threads.row);
	memset(s->r, 0, sizeof(*s->r));
}
