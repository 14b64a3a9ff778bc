// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Executable mappings over time.  A mapping ends where another is put over it or
 * where it is unmapped, what is left of it on either side goes on as a row of its
 * own; a forked process begins with its parent's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "model.h"

/* One process can make this many rows; a forged log could cost quadratic time. */
#define MAX_LIVE	65536

static int by_time(const void *pa, const void *pb)
{
	const struct dep_map_event *a = pa, *b = pb;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static const char *build_id_of(const struct dep_model *m, const struct adept_desc_map *map,
			       const char *path)
{
	const struct dep_build_id_row *b = m->build_ids.row;
	size_t i;

	for (i = 0; i < m->build_ids.n; i++)
		if (b[i].inode == map->inode && b[i].dev == map->dev && !strcmp(b[i].path, path))
			return b[i].id;
	return "";
}

static struct dep_module *add_copy(struct dep_model *m, struct dep_module like, u64 start,
				   u64 end, u64 time)
{
	struct dep_module *mod = dep_table_add(&m->modules, sizeof(*mod));

	if (!mod)
		return NULL;
	*mod = like;
	mod->start = start;
	mod->end = end;
	mod->offset = like.offset + (start - like.start);
	mod->from_ns = time;
	mod->to_ns = 0;
	return mod;
}

/* Take [start, end) out of what is mapped in @process. */
static int cut_out(struct dep_model *m, u32 process, u64 start, u64 end, u64 time)
{
	size_t i, n = m->modules.n;
	struct dep_module old;

	for (i = 0; i < n; i++) {
		old = ((struct dep_module *)m->modules.row)[i];
		if (old.process != process || old.to_ns || old.end <= start || old.start >= end)
			continue;
		((struct dep_module *)m->modules.row)[i].to_ns = time ? time : 1;
		if (old.start < start && !add_copy(m, old, old.start, start, time))
			return -ENOMEM;
		if (old.end > end && !add_copy(m, old, end, old.end, time))
			return -ENOMEM;
	}
	return 0;
}

static int known_already(const struct dep_model *m, u32 process, const struct adept_desc_map *map)
{
	const char *path = (const char *)(map + 1);
	const struct dep_module *mod = m->modules.row;
	size_t i;

	for (i = 0; i < m->modules.n; i++)
		if (mod[i].process == process && !mod[i].to_ns && mod[i].start == map->start &&
		    mod[i].end == map->end && mod[i].offset == map->offset &&
		    !strcmp(mod[i].path, path))
			return 1;
	return 0;
}

static int map_event(struct dep_model *m, const struct dep_map_event *e)
{
	struct dep_module *mod;
	int err;

	if (e->end <= e->start || m->modules.n > MAX_LIVE)
		return 0;
	if (e->map && known_already(m, e->process, e->map))
		return 0;
	err = cut_out(m, e->process, e->start, e->end, e->time_ns);
	if (err || !e->map)
		return err;
	mod = dep_table_add(&m->modules, sizeof(*mod));
	if (!mod)
		return -ENOMEM;
	mod->process = e->process;
	mod->start = e->start;
	mod->end = e->end;
	mod->offset = e->map->offset;
	mod->from_ns = e->time_ns;
	mod->path = (const char *)(e->map + 1);
	mod->build_id = build_id_of(m, e->map, mod->path);
	return 0;
}

static int inherit(struct dep_model *m, const struct dep_process *p)
{
	size_t i, n = m->modules.n;
	struct dep_module old, *mod;

	for (i = 0; i < n && m->modules.n <= MAX_LIVE; i++) {
		old = ((struct dep_module *)m->modules.row)[i];
		if (old.process != p->parent || old.to_ns)
			continue;
		mod = add_copy(m, old, old.start, old.end, p->start_ns);
		if (!mod)
			return -ENOMEM;
		mod->process = p->serial;
	}
	return 0;
}

/* Processes by their beginning, maps by their time: a walk over both. */
/*
 * An image that ended before the collector could read what it is: the program is the file that is
 * mapped lowest, and the engine describes that first.
 */
static void name_program(const struct dep_model *m, struct dep_process *p)
{
	const struct dep_map_event *e = m->map_events.row;
	size_t i;

	for (i = 0; i < m->map_events.n && !p->exe; i++)
		if (e[i].process == p->serial && e[i].map && *(const char *)(e[i].map + 1) == '/')
			p->exe = (const char *)(e[i].map + 1);
}

int dep_modules_build(struct dep_model *m)
{
	struct dep_process *p = m->processes.row;
	struct dep_map_event *e = m->map_events.row;
	size_t i, next = 0;
	int err = 0;

	for (i = 0; i < m->processes.n; i++)
		if (!p[i].exe && (p[i].cause == ADEPT_BY_LAUNCH || p[i].cause == ADEPT_BY_EXEC))
			name_program(m, &p[i]);
	if (m->map_events.n)
		qsort(e, m->map_events.n, sizeof(*e), by_time);
	for (i = 0; i < m->map_events.n && !err; i++) {
		for (; next < m->processes.n && p[next].start_ns <= e[i].time_ns && !err; next++)
			if (p[next].cause == ADEPT_BY_FORK)
				err = inherit(m, &p[next]);
		if (!err)
			err = map_event(m, &e[i]);
	}
	for (; next < m->processes.n && !err; next++)
		if (p[next].cause == ADEPT_BY_FORK)
			err = inherit(m, &p[next]);
	return err;
}
