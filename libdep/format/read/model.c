// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/codec/descriptor.h"
#include "libdep/format/file/error.h"
#include "model.h"

/* The text at offset @off of the payload; NULL if it is missing or not terminated by NUL. */
static const char *text_at(const struct dep_log_entry *fr, size_t off)
{
	const char *s = (const char *)fr->payload + off;

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
		return dep_fail(err, "cannot enlarge the index of fragments");
	f = dep_table_add(&m->fragments, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->d = d;
	f->process = process;
	f->maps = m->map_events.n;
	m->code_bytes += d->code_len;
	return 0;
}

static bool fits(const struct dep_fragment *f, const struct adept_desc_translation *d)
{
	const struct adept_code_place *p = dep_desc_places(d);
	u32 i;

	for (i = 0; i < d->nplaces; i++)
		if ((p[i].kind == ADEPT_CODE_COPY || p[i].kind == ADEPT_CODE_ADDED) &&
		    p[i].insn >= f->d->ninsns)
			return false;
	return true;
}

/*
 * Add the translation of an earlier fragment of the same process.  Nothing verifies translations
 * and no analysis depends on them.  So a translation that matches no fragment is ignored and not
 * counted as damage.
 */
static void add_translation(struct dep_model *m, u32 process,
			    const struct adept_desc_translation *d)
{
	const struct dep_exit_entry *e = dep_index_find(&m->index, d->first_exit);
	struct dep_fragment *f = NULL;

	if (e && e->first)
		f = (struct dep_fragment *)m->fragments.row + e->frag;
	if (f && f->process == process && !f->code && fits(f, d))
		f->code = d;
}

static int add_log_line(struct dep_model *m, u32 process, const struct adept_desc_log *d)
{
	struct dep_log_line *l = dep_table_add(&m->log_lines, sizeof(*l));

	if (!l)
		return -ENOMEM;
	*l = (struct dep_log_line){
		.process = process, .tid = d->tid, .time_ns = d->time_ns,
		.area = adept_log_area_name(d->area), .text = (const char *)(d + 1),
	};
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

static int add_attach(struct dep_model *m, u32 process, const struct adept_desc_attach *d)
{
	struct dep_attach *a = dep_table_add(&m->attaches, sizeof(*a));

	if (!a)
		return -ENOMEM;
	*a = (struct dep_attach){
		.process = process, .time_ns = d->time_ns, .maps_left_out = d->maps_left_out,
		.files_left_out = d->files_left_out,
	};
	return 0;
}

static int add_file(struct dep_model *m, u32 process, const struct adept_desc_file *d)
{
	struct dep_open_file *f = dep_table_add(&m->open_files, sizeof(*f));
	const char *path = (const char *)(d + 1);

	if (!f)
		return -ENOMEM;
	*f = (struct dep_open_file){
		.process = process, .fd = d->fd, .flags = d->flags, .dev = d->dev,
		.kind = d->kind < DEP_FILE_KINDS ? d->kind : DEP_FILE_OTHER,
		.inode = d->inode, .position = d->position, .path = path,
		.peer = path + strlen(path) + 1,
	};
	return 0;
}

static int add_descriptors(struct dep_model *m, const struct dep_log_entry *fr)
{
	const struct adept_desc *h = fr->payload;
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
		case ADEPT_DESC_TRANSLATION:
			add_translation(m, fr->process, (const void *)h);
			break;
		case ADEPT_DESC_LOG:
			err = add_log_line(m, fr->process, (const void *)h);
			break;
		case ADEPT_DESC_MAP:
		case ADEPT_DESC_UNMAP:
			err = add_map_event(m, fr->process, h);
			break;
		case ADEPT_DESC_ATTACH:
			err = add_attach(m, fr->process, (const void *)h);
			break;
		case ADEPT_DESC_FILE:
			err = add_file(m, fr->process, (const void *)h);
			break;
		case ADEPT_DESC_MESSAGE:
			note = dep_table_add(&m->notes, sizeof(*note));
			if (!note)
				return -ENOMEM;
			*note = (const char *)(h + 1);
			break;
		}
	}
	return err;
}

struct dep_process *dep_model_process(const struct dep_model *m, u32 serial)
{
	const struct dep_serial *at = dep_table_find(&m->serials, sizeof(*at), serial);

	return at ? (struct dep_process *)m->processes.row + at->row : NULL;
}

/* Set the command line: the payload from @off on; none if it does not end with a NUL byte. */
static void find_cmdline(struct dep_process *p, const struct dep_log_entry *fr, size_t off)
{
	const char *s = (const char *)fr->payload + off;

	if (off >= fr->size || s[fr->size - off - 1])
		return;
	p->cmdline = s;
	p->cmdline_size = fr->size - off;
}

/* A forked process runs its parent's program.  Use the parent's names if it has no own ones. */
static void inherit(struct dep_process *p, const struct dep_process *parent)
{
	if (!p->exe)
		p->exe = parent->exe;
	if (!p->cmdline) {
		p->cmdline = parent->cmdline;
		p->cmdline_size = parent->cmdline_size;
	}
}

static int add_process(struct dep_model *m, const struct dep_log_entry *fr)
{
	const struct dep_wire_process *w = fr->payload;
	const struct dep_process *parent;
	struct dep_serial *at;
	struct dep_process *p;

	if (fr->size < sizeof(*w))
		return 0;
	at = dep_table_of(&m->serials, sizeof(*at), w->serial);
	p = at ? dep_table_add(&m->processes, sizeof(*p)) : NULL;
	if (!p)
		return -ENOMEM;
	at->row = (u32)(m->processes.n - 1);
	p->serial = w->serial;
	p->pid = w->pid;
	p->parent = w->parent;
	p->cause = w->cause;
	p->start_ns = w->start_ns;
	p->end_ns = w->end_ns;
	p->exe = text_at(fr, sizeof(*w));
	if (p->exe)
		find_cmdline(p, fr, sizeof(*w) + strlen(p->exe) + 1);
	if (p->exe && !*p->exe)
		p->exe = NULL;
	parent = p->cause == ADEPT_BY_FORK ? dep_model_process(m, p->parent) : NULL;
	if (parent)
		inherit(p, parent);
	return 0;
}

static void end_process(struct dep_model *m, const struct dep_log_entry *fr)
{
	struct dep_wire_process_end w;
	struct dep_process *p;

	if (!dep_log_payload(fr, &w, sizeof(w),
			       offsetof(struct dep_wire_process_end, built)))
		return;
	p = dep_model_process(m, w.serial);
	if (!p)
		return;
	p->end_ns = w.end_ns;
	p->built = w.built;
	p->translate_ns = w.translate_ns;
}

/* Record that the store must have at least @sum->segments segments of the thread. */
static int claim(struct dep_model *m, const struct dep_wire_thread_sum *sum)
{
	struct dep_proof *p = dep_table_of(&m->proofs, sizeof(*p), sum->serial);

	if (!p)
		return -ENOMEM;
	if (sum->segments >= p->segments) {
		p->segments = sum->segments;
		p->chain = sum->chain;
	}
	return 0;
}

static int claim_rows(struct dep_model *m, const struct dep_wire_thread_sum *sum, u32 n)
{
	int err = 0;

	for (; n && !err; n--, sum++)
		err = claim(m, sum);
	return err;
}

const struct dep_thread *dep_model_thread(const struct dep_model *m, u32 serial)
{
	const struct dep_proof *p = dep_table_find(&m->proofs, sizeof(*p), serial);

	return p && p->thread ? (const struct dep_thread *)m->threads.row + p->thread - 1 : NULL;
}

/* Get the row of thread @w->serial, and add it if it does not exist. */
static struct dep_thread *thread_of(struct dep_model *m, const struct dep_wire_thread *w)
{
	struct dep_proof *p = dep_table_of(&m->proofs, sizeof(*p), w->serial);
	struct dep_thread *t;

	if (!p)
		return NULL;
	if (p->thread)
		return (struct dep_thread *)m->threads.row + p->thread - 1;
	t = dep_table_add(&m->threads, sizeof(*t));
	if (!t)
		return NULL;
	p->thread = (u32)m->threads.n;
	t->serial = w->serial;
	t->tid = w->tid;
	t->process = w->process;
	t->parent = w->parent;
	t->start_ns = w->start_ns;
	return t;
}

static int claim_thread(struct dep_model *m, const struct dep_wire_thread *w)
{
	struct dep_proof *p;
	int err;

	err = claim(m, &(struct dep_wire_thread_sum){
		.serial = w->serial, .segments = w->segments, .chain = w->chain,
	});
	if (err)
		return err;
	p = dep_table_find(&m->proofs, sizeof(*p), w->serial);
	p->end_seen = true;
	return 0;
}

static int add_thread(struct dep_model *m, const struct dep_log_entry *fr)
{
	struct dep_wire_thread w;
	struct dep_thread *t;

	if (!dep_log_payload(fr, &w, sizeof(w), offsetof(struct dep_wire_thread, end)))
		return 0;
	if (fr->type == DEP_F_THREAD_END && claim_thread(m, &w))
		return -ENOMEM;
	t = thread_of(m, &w);
	if (!t)
		return -ENOMEM;
	t->end_ns = w.end_ns;
	t->flushes = w.flushes;
	t->null_bytes = w.null_bytes;
	t->end = w.end;
	if (fr->type == DEP_F_THREAD_END)
		t->name = text_at(fr, w.fixed > DEP_THREAD_FIXED ? w.fixed : DEP_THREAD_FIXED);
	return 0;
}

int dep_build_id_order(const void *pa, const void *pb)
{
	const struct dep_build_id_row *a = pa, *b = pb;

	if (a->inode != b->inode)
		return a->inode < b->inode ? -1 : 1;
	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	return strcmp(a->path, b->path);
}

int dep_build_id_add(struct dep_table *ids, const struct dep_log_entry *fr)
{
	const struct dep_wire_build_id *w = fr->payload;
	struct dep_build_id_row *b;
	const char *id, *path;

	id = text_at(fr, sizeof(*w));
	path = id ? text_at(fr, sizeof(*w) + strlen(id) + 1) : NULL;
	if (!path)
		return 0;
	b = dep_table_add(ids, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->order = (u32)ids->n;
	b->dev = w->dev;
	b->inode = w->inode;
	b->id = id;
	b->path = path;
	return 0;
}

/* True if the payload has room for @n rows of @size bytes after its first @off bytes. */
static bool rows_fit(const struct dep_log_entry *fr, u32 off, u64 n, size_t size)
{
	return off <= fr->size && off % 8 == 0 && n <= (fr->size - off) / size;
}

static int add_mark(struct dep_model *m, const struct dep_log_entry *fr)
{
	const struct dep_wire_mark *w = fr->payload;

	if (fr->size < sizeof(*w) ||
	    !rows_fit(fr, sizeof(*w), w->rows, sizeof(struct dep_wire_thread_sum)))
		return 0;
	m->mark_ns = w->time_ns;
	return claim_rows(m, (const void *)(w + 1), w->rows);
}

static int add_trim(struct dep_model *m, const struct dep_log_entry *fr)
{
	const struct dep_wire_trim *w = fr->payload;
	const struct dep_wire_thread_sum *sum = (const void *)(w + 1);
	struct dep_proof *p;
	u32 i;

	if (fr->size < sizeof(*w) || !rows_fit(fr, sizeof(*w), w->rows, sizeof(*sum)))
		return 0;
	m->first_file = w->first_file;
	for (i = 0; i < w->rows; i++) {
		if (claim(m, &sum[i]))
			return -ENOMEM;
		p = dep_table_find(&m->proofs, sizeof(*p), sum[i].serial);
		p->trimmed = sum[i].segments;
		p->trim_chain = sum[i].chain;
	}
	return 0;
}

static int add_last(struct dep_model *m, const struct dep_log_entry *fr)
{
	const struct dep_wire_last_thread *row;
	struct dep_last_thread *t;
	struct dep_wire_last w;
	u32 i;

	if (!dep_log_payload(fr, &w, sizeof(w), DEP_LAST_FIXED) || w.fixed < DEP_LAST_FIXED ||
	    !rows_fit(fr, w.fixed, w.rows, sizeof(*row)))
		return 0;
	/* An older frame is shorter, and its rows follow it: set the newer members to 0. */
	if (w.fixed < sizeof(w))
		memset((u8 *)&w + w.fixed, 0, sizeof(w) - w.fixed);
	m->is_last = true;
	m->last = (struct dep_last){
		.max_bytes = w.max_bytes, .max_ns = w.max_ns, .from_ns = w.from_ns,
		.from_timestamp = w.from_timestamp, .chunks = w.chunks, .bytes = w.bytes,
		.processes = w.processes, .threads = w.threads,
		.kept = {
			.at_ns = w.kept_ns, .realtime_ns = w.kept_realtime_ns, .value = w.value,
			.reason = w.reason < DEP_KEEP_REASONS ? w.reason : DEP_KEEP_UNKNOWN,
			.tid = w.tid,
		},
	};
	memcpy(m->last.kept.what, w.what, sizeof(w.what) - 1);
	row = (const void *)((const u8 *)fr->payload + w.fixed);
	for (i = 0; i < w.rows; i++, row++) {
		t = dep_table_of(&m->last_threads, sizeof(*t), row->serial);
		if (!t)
			return -ENOMEM;
		t->first = row->first;
		t->chunks = row->chunks;
		t->bytes = row->bytes;
		t->tid_address = row->tid_address;
	}
	return 0;
}

static int add_end(struct dep_model *m, const struct dep_log_entry *fr)
{
	const u8 *rows;
	u64 tables;

	m->file_size = NULL;
	m->ended = dep_log_payload(fr, &m->end, sizeof(m->end),
				   offsetof(struct dep_wire_end, unfinished_threads));
	m->end_at = fr->at;
	m->end_check = fr->check;
	if (!m->ended || !m->end.fixed)
		return 0;
	tables = m->end.threads * (u64)sizeof(struct dep_wire_thread_sum) +
		 m->end.files * (u64)sizeof(u64);
	if (m->end.fixed < DEP_END_FIXED || !rows_fit(fr, m->end.fixed, tables, 1)) {
		m->ended = 0;
		return 0;
	}
	/* An older END is shorter, and its tables follow it: set the newer members to 0. */
	if (m->end.fixed < sizeof(m->end))
		memset((u8 *)&m->end + m->end.fixed, 0, sizeof(m->end) - m->end.fixed);
	rows = (const u8 *)fr->payload + m->end.fixed;
	m->file_size = (const u64 *)(rows + m->end.threads * sizeof(struct dep_wire_thread_sum));
	m->first_file = m->end.first_file;
	return claim_rows(m, (const void *)rows, m->end.threads);
}

int dep_model_add(struct dep_model *m, const struct dep_log_entry *fr)
{
	const char **note;

	/* END counts only as the last frame; a frame after it shows that the store was resumed. */
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
		return dep_build_id_add(&m->build_ids, fr);
	case DEP_F_MESSAGE:
		if (!text_at(fr, 0))
			return 0;
		note = dep_table_add(&m->notes, sizeof(*note));
		if (!note)
			return -ENOMEM;
		*note = fr->payload;
		return 0;
	case DEP_F_END:
		return add_end(m, fr);
	case DEP_F_MARK:
		return add_mark(m, fr);
	case DEP_F_TRIM:
		return add_trim(m, fr);
	case DEP_F_LAST:
		return add_last(m, fr);
	}
	return 0;
}

int dep_model_init(struct dep_model *m)
{
	int err;

	memset(m, 0, sizeof(*m));
	m->proofs.may_move = m->serials.may_move = DEP_TABLE_MOVES;
	m->last_threads.may_move = DEP_TABLE_MOVES;
	err = dep_index_init(&m->index);
	return err ? dep_fail(err, "cannot make the index of fragments") : 0;
}

int dep_model_build(struct dep_model *m, const void *log, size_t size, struct dep_format *fmt)
{
	const struct dep_log_entry *e;
	struct dep_log_scan scan;
	int err;

	err = dep_log_open(&scan, log, size);
	if (!err)
		err = dep_model_init(m);
	if (err)
		return err;
	while (!err && (e = dep_log_next(&scan)))
		err = dep_model_add(m, e);
	m->bad_bytes = scan.bad_bytes;
	m->breaks = scan.breaks;
	m->frames = scan.frames;
	*fmt = scan.fmt;
	if (!err)
		err = dep_modules_build(m, size);
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
	free(m->log_lines.row);
	free(m->map_events.row);
	free(m->attaches.row);
	free(m->open_files.row);
	free(m->build_ids.row);
	free(m->proofs.row);
	free(m->serials.row);
	free(m->last_threads.row);
	memset(m, 0, sizeof(*m));
}
