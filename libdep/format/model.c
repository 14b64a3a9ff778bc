// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "desc.h"
#include "error.h"
#include "model.h"

void *dep_table_add(struct dep_table *t, size_t row_size)
{
	size_t room = t->room ? t->room * 2 : 64;
	void *p;

	if (t->n == t->room) {
		p = realloc(t->row, room * row_size);
		if (!p) {
			dep_fail(-ENOMEM, "tables of the store");
			return NULL;
		}
		t->row = p;
		t->room = room;
	}
	p = (char *)t->row + t->n++ * row_size;
	return memset(p, 0, row_size);
}

static const void *payload(const struct dep_frame *fr)
{
	return fr + 1;
}

/* The text at @off of the payload, NULL if there is none or it has no end. */
static const char *text_at(const struct dep_frame *fr, size_t off)
{
	const char *s = (const char *)payload(fr) + off;

	return off < fr->size && memchr(s, 0, fr->size - off) ? s : NULL;
}

static int add_fragment(struct dep_model *m, u32 process, const struct adept_desc_frag *d)
{
	struct dep_fragment *f;
	int err;

	err = dep_index_add(&m->index, d, m->fragments.n);
	if (err == -EEXIST) {
		m->bad_descriptors++;
		return 0;
	}
	if (err)
		return dep_fail(err, "index of fragments");
	f = dep_table_add(&m->fragments, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->d = d;
	f->process = process;
	m->code_bytes += d->code_len;
	return 0;
}

static int add_map_event(struct dep_model *m, u32 process, const struct adept_desc *h)
{
	const struct adept_desc_unmap *un = (const void *)h;
	const struct adept_desc_map *map = (const void *)h;
	struct dep_map_event *e = dep_table_add(&m->map_events, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->process = process;
	e->order = m->map_events.n;
	if (h->type == ADEPT_DESC_MAP) {
		e->map = map;
		e->start = map->start;
		e->end = map->end;
		e->time_ns = map->time_ns;
	} else {
		e->start = un->start;
		e->end = un->end;
		e->time_ns = un->time_ns;
	}
	return 0;
}

static int add_descriptors(struct dep_model *m, const struct dep_frame *fr)
{
	const struct adept_desc *h = payload(fr);
	size_t left = fr->size, size;
	const char **note;
	int err = 0;

	for (; left && !err; left -= size, h = (const void *)((const char *)h + size)) {
		size = dep_desc_next(h, left);
		if (!size) {
			m->bad_descriptors++;
			break;
		}
		m->desc_bytes += size;
		if (dep_desc_check(h)) {
			m->bad_descriptors++;
			continue;
		}
		switch (h->type) {
		case ADEPT_DESC_FRAGMENT:
			err = add_fragment(m, fr->process, (const void *)h);
			break;
		case ADEPT_DESC_MAP:
		case ADEPT_DESC_UNMAP:
			err = add_map_event(m, fr->process, h);
			break;
		case ADEPT_DESC_NOTE:
			note = dep_table_add(&m->notes, sizeof(*note));
			if (!note)
				return -ENOMEM;
			*note = (const char *)(h + 1);
			break;
		}
	}
	return err;
}

/* Of the process with this serial number; NULL: there is none, or its name is not known. */
static const char *exe_of(const struct dep_model *m, u32 serial)
{
	const struct dep_process *p = m->processes.row;
	size_t i = m->processes.n;

	while (i--)
		if (p[i].serial == serial)
			return p[i].exe;
	return NULL;
}

static int add_process(struct dep_model *m, const struct dep_frame *fr)
{
	const struct dep_wire_process *w = payload(fr);
	struct dep_process *p;

	if (fr->size < sizeof(*w))
		return 0;
	p = dep_table_add(&m->processes, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->serial = w->serial;
	p->pid = w->pid;
	p->parent = w->parent;
	p->cause = w->cause;
	p->start_ns = w->start_ns;
	p->end_ns = w->end_ns;
	p->exe = text_at(fr, sizeof(*w));
	/* It had ended when it was first seen, and its parent too. */
	if (!p->exe && p->cause == ADEPT_BY_FORK)
		p->exe = exe_of(m, p->parent);
	return 0;
}

static void end_process(struct dep_model *m, const struct dep_frame *fr)
{
	struct dep_process *p = m->processes.row;
	struct dep_wire_process_end w;
	size_t i = m->processes.n;

	if (!dep_frame_payload(fr, &w, sizeof(w),
			       offsetof(struct dep_wire_process_end, built)))
		return;
	/* From the last: what ends has mostly begun lately. */
	while (i--)
		if (p[i].serial == w.serial) {
			p[i].end_ns = w.end_ns;
			p[i].built = w.built;
			p[i].translate_ns = w.translate_ns;
			return;
		}
}

static int add_thread(struct dep_model *m, const struct dep_frame *fr)
{
	struct dep_thread *t = m->threads.row;
	struct dep_wire_thread w;
	size_t i = m->threads.n;

	if (!dep_frame_payload(fr, &w, sizeof(w), offsetof(struct dep_wire_thread, end)))
		return 0;
	while (fr->type == DEP_F_THREAD_END && i--)
		if (t[i].serial == w.serial) {
			t[i].end_ns = w.end_ns;
			t[i].flushes = w.flushes;
			t[i].null_bytes = w.null_bytes;
			t[i].end = w.end;
			return 0;
		}
	t = dep_table_add(&m->threads, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->serial = w.serial;
	t->tid = w.tid;
	t->process = w.process;
	t->parent = w.parent;
	t->start_ns = w.start_ns;
	t->end_ns = w.end_ns;
	t->flushes = w.flushes;
	t->null_bytes = w.null_bytes;
	t->end = w.end;
	return 0;
}

static int add_build_id(struct dep_model *m, const struct dep_frame *fr)
{
	const struct dep_wire_build_id *w = payload(fr);
	struct dep_build_id_row *b;
	const char *id, *path;

	id = text_at(fr, sizeof(*w));
	path = id ? text_at(fr, sizeof(*w) + strlen(id) + 1) : NULL;
	if (!path)
		return 0;
	b = dep_table_add(&m->build_ids, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->dev = w->dev;
	b->inode = w->inode;
	b->id = id;
	b->path = path;
	return 0;
}

int dep_model_add(struct dep_model *m, const struct dep_frame *fr)
{
	const char **note;

	/* It is the last where a store was closed; else another writer went on. */
	m->ended = 0;
	switch (fr->type) {
	case DEP_F_DESCRIPTORS:
		return add_descriptors(m, fr);
	case DEP_F_PROCESS:
		return add_process(m, fr);
	case DEP_F_PROCESS_END:
		end_process(m, fr);
		return 0;
	case DEP_F_THREAD:
	case DEP_F_THREAD_END:
		return add_thread(m, fr);
	case DEP_F_BUILD_ID:
		return add_build_id(m, fr);
	case DEP_F_NOTE:
		if (!text_at(fr, 0))
			return 0;
		note = dep_table_add(&m->notes, sizeof(*note));
		if (!note)
			return -ENOMEM;
		*note = payload(fr);
		return 0;
	case DEP_F_END:
		m->ended = dep_frame_payload(fr, &m->end, sizeof(m->end),
					     offsetof(struct dep_wire_end,
						      unfinished_threads));
		return 0;
	}
	return 0;
}

int dep_model_init(struct dep_model *m)
{
	int err;

	memset(m, 0, sizeof(*m));
	err = dep_index_init(&m->index);
	return err ? dep_fail(err, "index of fragments") : 0;
}

int dep_model_build(struct dep_model *m, const void *log, size_t size)
{
	const struct dep_frame *fr;
	struct dep_log_scan scan;
	int err;

	err = dep_log_open(&scan, log, size);
	if (!err)
		err = dep_model_init(m);
	if (err)
		return err;
	while (!err && (fr = dep_log_next(&scan)))
		err = dep_model_add(m, fr);
	m->bad_bytes = scan.bad_bytes;
	if (!err)
		err = dep_modules_build(m);
	if (err)
		dep_model_free(m);
	return err;
}

void dep_model_free(struct dep_model *m)
{
	dep_index_free(&m->index);
	free(m->processes.row);
	free(m->threads.row);
	free(m->modules.row);
	free(m->notes.row);
	free(m->fragments.row);
	free(m->map_events.row);
	free(m->build_ids.row);
	memset(m, 0, sizeof(*m));
}
