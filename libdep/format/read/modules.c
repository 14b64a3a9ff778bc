// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Executable mappings over time.  An address range of a mapping ends when it is unmapped or another
 * mapping replaces it; the remaining ranges on either side become new rows.  A forked process
 * begins with the mappings of its parent.
 *
 * The mappings of a process that exist at one time never overlap.  They are in a search tree
 * (tsearch) whose comparison treats overlapping ranges as equal, so that the mappings that an event
 * ends are found in logarithmic time.  They are also in a list per process, for forks.  A log may
 * be forged: no event takes time proportional to the number of all events, and the number of rows
 * is limited by the memory budget (budget.h).
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/budget.h"
#include "libdep/format/file/error.h"
#include "model.h"

/** struct live - a mapping that has not ended */
struct live {
	u32 process;
	u64 start, end;
	size_t row;		/* row in dep_model.modules */
	struct live *prev, *next;	/* list of the live mappings of the process */
};

/** struct owner - a process that has mappings; rows of a table sorted by serial */
struct owner {
	u32 serial;
	struct live *first, *last;
};

struct mapper {
	struct dep_model *m;
	struct dep_build_id_row *id;	/* build-ids sorted by file, without duplicates */
	size_t nids;
	struct dep_table owners;
	void *tree;		/* search tree of struct live */
	size_t most;		/* maximum number of rows in dep_model.modules */
};

/* Memory per row: the row itself while its table is copied, struct live, and a tree node. */
#define ROW_MEMORY	(3 * sizeof(struct dep_module) + sizeof(struct live) + 64)

static int by_time(const void *pa, const void *pb)
{
	const struct dep_map_event *a = pa, *b = pb;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* ---- build-ids ---- */

static int by_file_and_place(const void *pa, const void *pb)
{
	const struct dep_build_id_row *a = pa, *b = pb;
	int order = dep_build_id_order(a, b);

	return order ? order : a->order < b->order ? -1 : a->order > b->order;
}

static int sort_build_ids(struct mapper *mp)
{
	const struct dep_table *t = &mp->m->build_ids;
	size_t i, n = 0;

	if (!t->n)
		return 0;
	mp->id = malloc(t->n * sizeof(*mp->id));
	if (!mp->id)
		return dep_fail(-ENOMEM, "build-ids");
	memcpy(mp->id, t->row, t->n * sizeof(*mp->id));
	qsort(mp->id, t->n, sizeof(*mp->id), by_file_and_place);
	for (i = 0; i < t->n; i++)
		if (!n || dep_build_id_order(&mp->id[n - 1], &mp->id[i]))
			mp->id[n++] = mp->id[i];
	mp->nids = n;
	return 0;
}

static const char *build_id_of(const struct mapper *mp, const struct adept_desc_map *map,
			       const char *path)
{
	const struct dep_build_id_row key = { .dev = map->dev, .inode = map->inode, .path = path };
	const struct dep_build_id_row *b = NULL;

	if (mp->nids)
		b = bsearch(&key, mp->id, mp->nids, sizeof(key), dep_build_id_order);
	return b ? b->id : "";
}

/* ---- mappings that have not ended ---- */

static int by_place(const void *pa, const void *pb)
{
	const struct live *a = pa, *b = pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->end <= b->start)
		return -1;
	return a->start >= b->end;
}

static struct dep_module *row_of(const struct mapper *mp, const struct live *l)
{
	return (struct dep_module *)mp->m->modules.row + l->row;
}

/* Any live mapping of @process that overlaps [start, end), or NULL. */
static struct live *find(const struct mapper *mp, u32 process, u64 start, u64 end)
{
	const struct live key = { .process = process, .start = start, .end = end };
	struct live **node = tfind(&key, &mp->tree, by_place);

	return node ? *node : NULL;
}

/* Add a live mapping, which must not overlap another live mapping of its process. */
static int map_begins(struct mapper *mp, const struct dep_module *what)
{
	struct dep_module *mod;
	struct owner *o;
	struct live *l;

	if (mp->m->modules.n >= mp->most)
		return dep_fail(-EFBIG, "more than %zu mappings are in %s, too many for its size",
				mp->most, DEP_LOG_NAME);
	mod = dep_table_add(&mp->m->modules, sizeof(*mod));
	o = mod ? dep_table_of(&mp->owners, sizeof(*o), what->process) : NULL;
	l = o ? malloc(sizeof(*l)) : NULL;
	if (!l)
		return dep_fail(-ENOMEM, "mappings");
	*mod = *what;
	*l = (struct live){
		.process = what->process, .start = what->start, .end = what->end,
		.row = mp->m->modules.n - 1, .prev = o->last,
	};
	if (!tsearch(l, &mp->tree, by_place)) {
		free(l);
		return dep_fail(-ENOMEM, "mappings");
	}
	if (l->prev)
		l->prev->next = l;
	else
		o->first = l;
	o->last = l;
	return 0;
}

static void map_ends(struct mapper *mp, struct live *l, u64 time)
{
	struct owner *o = dep_table_find(&mp->owners, sizeof(*o), l->process);

	row_of(mp, l)->to_ns = time ? time : 1;
	tdelete(l, &mp->tree, by_place);
	if (l->next)
		l->next->prev = l->prev;
	else
		o->last = l->prev;
	if (l->prev)
		l->prev->next = l->next;
	else
		o->first = l->next;
	free(l);
}

/* Add the range [start, end) of mapping @like as a new mapping that begins at @time. */
static int begin_part(struct mapper *mp, struct dep_module like, u64 start, u64 end, u64 time)
{
	like.offset += start - like.start;
	like.start = start;
	like.end = end;
	like.from_ns = time;
	like.to_ns = 0;
	return map_begins(mp, &like);
}

/* ---- events ---- */

/* End all mappings of @process in [start, upto). */
static int cut_out(struct mapper *mp, u32 process, u64 start, u64 upto, u64 time)
{
	struct dep_module old;
	struct live *l;
	int err = 0;

	while (!err && (l = find(mp, process, start, upto))) {
		old = *row_of(mp, l);
		map_ends(mp, l, time);
		if (old.start < start)
			err = begin_part(mp, old, old.start, start, time);
		if (!err && old.end > upto)
			err = begin_part(mp, old, upto, old.end, time);
	}
	return err;
}

static bool known_already(const struct mapper *mp, u32 process, const struct adept_desc_map *map)
{
	/* A mapping equal to @map fills the range, so find() cannot return another mapping. */
	const struct live *l = find(mp, process, map->start, map->end);
	const struct dep_module *mod = l ? row_of(mp, l) : NULL;

	return mod && mod->start == map->start && mod->end == map->end &&
	       mod->offset == map->offset && !strcmp(mod->path, (const char *)(map + 1));
}

static int map_event(struct mapper *mp, const struct dep_map_event *e)
{
	struct dep_module mod = {
		.process = e->process, .start = e->start, .end = e->end, .from_ns = e->time_ns,
	};
	int err;

	if (e->end <= e->start || (e->map && known_already(mp, e->process, e->map)))
		return 0;
	err = cut_out(mp, e->process, e->start, e->end, e->time_ns);
	if (err || !e->map)
		return err;
	mod.offset = e->map->offset;
	mod.prot = e->map->prot;
	mod.path = (const char *)(e->map + 1);
	mod.build_id = build_id_of(mp, e->map, mod.path);
	return map_begins(mp, &mod);
}

/* Copy the parent's mappings to @p, except where @p is known to have another mapping. */
static int inherit(struct mapper *mp, const struct dep_process *p)
{
	struct owner *o = dep_table_find(&mp->owners, sizeof(*o), p->parent);
	struct live *l = o && p->parent != p->serial ? o->first : NULL;
	struct dep_module mod;
	int err = 0;

	for (; l && !err; l = l->next) {
		if (find(mp, p->serial, l->start, l->end))
			continue;
		mod = *row_of(mp, l);
		mod.process = p->serial;
		err = begin_part(mp, mod, mod.start, mod.end, p->start_ns);
	}
	return err;
}

/*
 * Name the program of an image that ended before the collector could read its name: the program is
 * the file that is mapped lowest.  The engine describes a file when code in it is executed, so the
 * first one is the dynamic loader, and a library with an early constructor can come next.
 */
static int name_programs(struct dep_model *m)
{
	const struct dep_map_event *e = m->map_events.row, **lowest, **at;
	struct dep_process *process = m->processes.row, *p;
	size_t i;

	lowest = calloc(m->processes.n + 1, sizeof(*lowest));
	if (!lowest)
		return -ENOMEM;
	for (i = 0; i < m->map_events.n; i++, e++) {
		if (!e->map || *(const char *)(e->map + 1) != '/')
			continue;
		p = dep_model_process(m, e->process);
		if (!p || p->exe || (p->cause != ADEPT_BY_LAUNCH && p->cause != ADEPT_BY_EXEC))
			continue;
		at = lowest + (p - process);
		if (!*at || e->start < (*at)->start)
			*at = e;
	}
	for (i = 0; i < m->processes.n; i++)
		if (lowest[i])
			process[i].exe = (const char *)(lowest[i]->map + 1);
	free(lowest);
	return 0;
}

/* Process starts and map events are both ordered by time: merge them. */
static int walk(struct mapper *mp)
{
	const struct dep_process *p = mp->m->processes.row;
	const struct dep_map_event *e = mp->m->map_events.row;
	size_t i, next = 0;
	int err = 0;

	for (i = 0; i < mp->m->map_events.n && !err; i++) {
		for (; next < mp->m->processes.n && p[next].start_ns <= e[i].time_ns && !err;
		     next++)
			if (p[next].cause == ADEPT_BY_FORK)
				err = inherit(mp, &p[next]);
		if (!err)
			err = map_event(mp, &e[i]);
	}
	for (; next < mp->m->processes.n && !err; next++)
		if (p[next].cause == ADEPT_BY_FORK)
			err = inherit(mp, &p[next]);
	return err;
}

int dep_modules_build(struct dep_model *m, u64 input)
{
	struct mapper mp = {
		.m = m, .most = dep_budget_mappings(input) / ROW_MEMORY,
		.owners = { .may_move = DEP_TABLE_MOVES },
	};
	struct dep_map_event *e = m->map_events.row;
	int err = name_programs(m);

	if (err)
		return err;
	if (m->map_events.n)
		qsort(e, m->map_events.n, sizeof(*e), by_time);
	err = sort_build_ids(&mp);
	if (!err)
		err = walk(&mp);
	tdestroy(mp.tree, free);
	free(mp.owners.row);
	free(mp.id);
	return err;
}
