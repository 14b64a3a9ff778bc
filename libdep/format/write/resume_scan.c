// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/codec/descriptor.h"
#include "libdep/format/file/error.h"
#include "pack.h"
#include "resume_scan.h"

static struct dep_resume_process *process_of(struct dep_resume_scan *s, u32 serial)
{
	return dep_table_of(&s->processes, sizeof(struct dep_resume_process), serial);
}

static struct dep_resume_thread *thread_of(struct dep_resume_scan *s, u32 serial)
{
	return dep_table_of(&s->threads, sizeof(struct dep_resume_thread), serial);
}

/* ---- the log ---- */

/* Admit the valid descriptors of a frame; readers skip the invalid descriptors, too. */
static int take_descriptors(struct dep_resume_scan *s, const struct dep_log_entry *fr)
{
	struct dep_resume_process *p = process_of(s, fr->process);
	const u8 *data = fr->payload;
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

static int take_process(struct dep_resume_scan *s, const struct dep_log_entry *fr)
{
	struct dep_resume_process *p;
	struct dep_wire_process w;

	if (!dep_log_payload(fr, &w, sizeof(w), sizeof(w)))
		return 0;
	p = process_of(s, w.serial);
	if (!p)
		return -ENOMEM;
	s->w->nprocesses += !p->pid;
	p->pid = w.pid;
	return 0;
}

static int take_process_end(struct dep_resume_scan *s, const struct dep_log_entry *fr)
{
	struct dep_resume_process *p;
	struct dep_wire_process_end w;

	if (!dep_log_payload(fr, &w, sizeof(w), offsetof(struct dep_wire_process_end, built)))
		return 0;
	p = process_of(s, w.serial);
	if (!p)
		return -ENOMEM;
	p->ended = true;
	return 0;
}

static int take_thread(struct dep_resume_scan *s, const struct dep_log_entry *fr)
{
	struct dep_resume_thread *t;
	struct dep_wire_thread w;

	if (!dep_log_payload(fr, &w, sizeof(w), offsetof(struct dep_wire_thread, end)))
		return 0;
	t = thread_of(s, w.serial);
	if (!t)
		return -ENOMEM;
	s->w->nthreads += !t->process;
	t->tid = w.tid;
	t->process = w.process;
	t->ended |= fr->type == DEP_F_THREAD_END;
	return 0;
}

/* Count the removed segments of each thread as stored: indexes and chains continue after them. */
static int take_trim(struct dep_resume_scan *s, const struct dep_log_entry *fr)
{
	const struct dep_wire_trim *w = fr->payload;
	const struct dep_wire_thread_sum *sum = (const void *)(w + 1);
	struct dep_chain *c;
	u32 i;

	if (fr->size < sizeof(*w) || w->rows > (fr->size - sizeof(*w)) / sizeof(*sum))
		return 0;
	s->w->first_file = w->first_file;
	for (i = 0; i < w->rows; i++) {
		c = dep_chain_of(&s->w->chains, sum[i].serial);
		if (!c)
			return -ENOMEM;
		c->segments = sum[i].segments;
		c->chain = sum[i].chain;
	}
	return 0;
}

/* Record how many segments of each thread a MARK names: they are on the disk, no check needed. */
static int take_mark(struct dep_resume_scan *s, const struct dep_log_entry *fr)
{
	const struct dep_wire_mark *w = fr->payload;
	const struct dep_wire_thread_sum *sum = (const void *)(w + 1);
	struct dep_chain *c;
	u32 i;

	if (fr->size < sizeof(*w) || w->rows > (fr->size - sizeof(*w)) / sizeof(*sum))
		return 0;
	for (i = 0; i < w->rows; i++) {
		c = dep_chain_of(&s->w->chains, sum[i].serial);
		if (!c)
			return -ENOMEM;
		c->marked = sum[i].segments;
	}
	return 0;
}

static int take_frame(struct dep_resume_scan *s, const struct dep_log_entry *fr)
{
	s->r->ending = fr->type == DEP_F_END;
	if (fr->type == DEP_F_DESCRIPTORS)
		s->last = *fr;
	else if (fr->type != DEP_F_BUILD_ID)
		s->last.payload = NULL;
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
	case DEP_F_MARK:
		return take_mark(s, fr);
	case DEP_F_TRIM:
		return take_trim(s, fr);
	}
	return 0;
}

int dep_resume_log(struct dep_resume_scan *s)
{
	const struct dep_log_entry *fr;
	struct dep_log_scan scan;
	size_t size;
	int err;

	err = dep_read_fd(s->w->log.file.fd, DEP_LOG_NAME, UINT64_MAX, &s->log, &size);
	if (err)
		return err;
	s->log_size = size;
	err = dep_log_open(&scan, s->log, size);
	if (err)
		return err;
	if (scan.fmt.version != s->w->fmt.version ||
	    memcmp(scan.fmt.id, s->w->fmt.id, DEP_ID_SIZE))
		return dep_fail(-EBADMSG, "%s belongs to another store", DEP_LOG_NAME);
	s->log_end = scan.at;
	s->processes.may_move = s->threads.may_move = s->w->chains.may_move = DEP_TABLE_MOVES;
	while ((fr = dep_log_next(&scan))) {
		err = take_frame(s, fr);
		if (err)
			return err;
		s->log_end = fr->end;
	}
	/* The scan has not reached the end, so a reader would not find frames appended there. */
	if (scan.gave_up)
		return dep_fail(-EBADMSG, "%s is damaged in too many places", DEP_LOG_NAME);
	s->w->log.seed = scan.fmt.seed;
	s->w->log.prev = scan.prev;
	s->w->log.frames = scan.frames;
	s->r->bad_bytes = scan.bad_bytes;
	if (size > s->log_end) {
		s->r->cut_log = size - s->log_end;
		s->r->bad_bytes -= s->r->cut_log;
	}
	return 0;
}

/* Collect the BUILD_ID frames after s->last, sorted by file. */
static int build_ids_after(const struct dep_resume_scan *s, struct dep_table *ids)
{
	const struct dep_log_entry *fr;
	struct dep_log_scan scan;
	int err = 0;

	dep_log_open(&scan, s->log, s->log_end);
	scan.at = s->last.end;
	while (!err && (fr = dep_log_next(&scan)))
		if (fr->type == DEP_F_BUILD_ID)
			err = dep_build_id_add(ids, fr);
	if (ids->n)
		qsort(ids->row, ids->n, sizeof(struct dep_build_id_row), dep_build_id_order);
	return err;
}

static bool has_build_id(const struct dep_table *ids, const struct adept_desc_map *map)
{
	const struct dep_build_id_row key = {
		.dev = map->dev, .inode = map->inode, .path = (const char *)(map + 1),
	};

	return ids->n && bsearch(&key, ids->row, ids->n, sizeof(key), dep_build_id_order);
}

int dep_resume_build_ids(struct dep_resume_scan *s)
{
	struct dep_table ids = { 0 };
	const struct adept_desc *h;
	size_t left, n;
	int err;

	if (!s->last.payload)
		return 0;
	err = build_ids_after(s, &ids);
	h = s->last.payload;
	for (left = s->last.size; left && !err; left -= n) {
		n = dep_desc_next(h, left);
		if (!n)
			break;
		if (h->type == ADEPT_DESC_MAP && !dep_desc_check(h) &&
		    !has_build_id(&ids, (const void *)h))
			err = dep_writer_build_id(s->w, s->last.process, (const void *)h);
		h = (const void *)((const char *)h + n);
	}
	free(ids.row);
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
	const struct dep_segment *g;
	struct dep_chain *c;
	size_t i;

	if (l->n)
		qsort(l->seg, l->n, sizeof(*l->seg), by_thread_seq);
	for (i = 0; i < l->n; i++) {
		g = &l->seg[i];
		c = dep_chain_of(&s->w->chains, g->thread);
		if (!c)
			return -ENOMEM;
		c->raw_bytes += g->raw_bytes;
		if (g->index >= c->segments) {
			c->segments = g->index + 1;
			c->chain = g->chain;
		}
		if (i + 1 < l->n && g[1].thread == g->thread)
			continue;
		t = thread_of(s, g->thread);
		if (!t)
			return -ENOMEM;
		if (t->next_seq <= g->seq)
			t->next_seq = g->seq + 1;
	}
	return 0;
}

/* Check the columns of @g, unless a MARK names it.  Return: 1 if they are damaged. */
static int check_segment(struct dep_resume_scan *s, int fd, const struct dep_segment *g)
{
	const struct dep_chain *c = dep_table_find(&s->w->chains, sizeof(*c), g->thread);
	struct dep_seg_header h;
	int err;

	if (c && g->index < c->marked)
		return 0;
	s->w->unmarked += g->stored_bytes;
	err = dep_seg_check(fd, &s->w->fmt, g, &h);
	return err == -EBADMSG ? 1 : err;
}

/*
 * After a power failure, a segment that no MARK names can have its header on the disk, but not its
 * columns.  Remove such segments from the list, as if they had never been stored, and add them to
 * s->damaged: dep_writer_resume() overwrites their headers, so that readers do not find them.
 */
static int take_off_damaged(struct dep_resume_scan *s, int fd)
{
	struct dep_seg_list *l = &s->list;
	struct dep_segment *row;
	size_t i, n = 0;
	int ret = 0;

	for (i = 0; i < l->n && ret >= 0; i++) {
		ret = check_segment(s, fd, &l->seg[i]);
		if (!ret) {
			l->seg[n++] = l->seg[i];
			continue;
		}
		row = ret > 0 ? dep_table_add(&s->damaged, sizeof(*row)) : NULL;
		if (ret > 0 && !row)
			ret = -ENOMEM;
		if (row)
			*row = l->seg[i];
	}
	l->n = n;
	return ret < 0 ? ret : 0;
}

static u64 end_of(const struct dep_seg_list *l)
{
	const struct dep_segment *g = l->n ? &l->seg[l->n - 1] : NULL;

	return g ? g->offset + g->stored_bytes : sizeof(struct dep_file_header);
}

/* Remove segments with incomplete columns from the end of the list. */
static int drop_unfinished(const struct dep_format *fmt, struct dep_seg_list *l, int fd)
{
	struct dep_seg_header h;
	int err = 0;

	for (; l->n; l->n--) {
		err = dep_seg_check(fd, fmt, &l->seg[l->n - 1], &h);
		if (err != -EBADMSG)
			break;
		l->lost_bytes -= h.lost_bytes;
		err = 0;
	}
	return err;
}

int dep_resume_segments(struct dep_resume_scan *s, int fd, u32 number, u64 size, bool last)
{
	struct dep_seg_list *l = &s->list;
	int err;

	l->n = 0;
	l->torn = 0;
	l->lost_bytes = 0;
	err = dep_seg_scan(fd, &s->w->fmt, number, 0, l);
	if (err)
		return err;
	if (last) {
		/* Data after the last segment was counted as damage, but will be cut off. */
		if (size > end_of(l))
			l->torn--;
		err = drop_unfinished(&s->w->fmt, l, fd);
		if (err)
			return err;
		s->seg_end = end_of(l);
		if (size > s->seg_end)
			s->r->cut_segments = size - s->seg_end;
	}
	if (!l->n && dep_seg_file_check(fd, &s->w->fmt, number))
		return dep_fail(-EBADMSG, DEP_SEG_NAME " is not a segment file", number);
	s->r->torn += l->torn;
	s->w->discarded_bytes += l->lost_bytes;
	err = take_off_damaged(s, fd);
	return err ? err : take_segments(s);
}

void dep_resume_scan_free(struct dep_resume_scan *s, bool keep)
{
	free(s->log);
	free(s->list.seg);
	free(s->damaged.row);
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
