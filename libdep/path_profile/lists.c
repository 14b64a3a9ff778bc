// SPDX-License-Identifier: LGPL-2.1-or-later
/* Arrays that grow within the memory allowed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "pass.h"

#define CACHE_LINE	64u

/* Bytes of a hash table for each row: a slot, and the free ones. */
#define SLOT_BYTES	(4 * sizeof(struct dep_row_slot))

/* Rows of a cache line each do not cross the lines' borders. */
static void *enlarge(const struct dep_path_list *list, size_t room, size_t row_bytes)
{
	void *more;

	if (row_bytes != CACHE_LINE)
		return realloc(list->row, room * row_bytes);
	more = aligned_alloc(CACHE_LINE, room * row_bytes);
	if (!more)
		return NULL;
	if (list->n)
		memcpy(more, list->row, list->n * row_bytes);
	free(list->row);
	return more;
}

static int too_little(void)
{
	return dep_fail(-ENOSPC, "paths: they do not fit in the memory allowed");
}

int dep_path_charge(struct dep_path_pass *p, u64 bytes)
{
	if (bytes > p->limit - p->used)
		return too_little();
	p->used += bytes;
	return 0;
}

/* Bytes of each row of @list, with what is made of it in other places. */
static size_t bytes_of(const struct dep_path_pass *p, const struct dep_path_list *list,
		       size_t row_bytes)
{
	if (list == &p->chain || list == &p->middle || list == &p->hot || list == &p->passed ||
	    list == &p->later)
		return row_bytes;	/* no hash table */
	if (list == &p->counter)
		row_bytes += sizeof(struct dep_path_row);
	if (list == &p->function)
		row_bytes += sizeof(struct dep_path_function);
	return row_bytes + SLOT_BYTES;
}

s64 dep_path_add(struct dep_path_pass *p, struct dep_path_list *list, size_t row_bytes)
{
	size_t room = list->room ? list->room + list->room / 2 : 64;
	void *more;
	int err;

	if (list->n == list->room) {
		err = room >= DEP_PATH_NO ? too_little() :
		      dep_path_charge(p, (room - list->room) * bytes_of(p, list, row_bytes));
		if (err)
			return err;
		more = enlarge(list, room, row_bytes);
		if (!more)
			return dep_fail(-ENOMEM, "paths");
		list->row = more;
		list->room = room;
	}
	memset((char *)list->row + list->n * row_bytes, 0, row_bytes);
	return (s64)list->n++;
}

s64 dep_path_index(struct dep_path_pass *p, struct dep_row_map *map,
		   const struct dep_row_key *key, struct dep_path_list *list, size_t row_bytes,
		   bool *added)
{
	s64 i = dep_row_find(map, key);

	*added = i < 0;
	if (i >= 0)
		return i;
	i = dep_path_add(p, list, row_bytes);
	if (i < 0)
		return i;
	return dep_row_set(map, key, (u32)i) ? dep_fail(-ENOMEM, "paths") : i;
}

static void free_functions(struct dep_path_pass *p)
{
	struct dep_path_fn *f;
	size_t i;

	for (i = 0; i < p->function.n; i++) {
		f = dep_path_fn_at(p, (u32)i);
		if (f->numbered)
			dep_paths_free(&f->paths);
		dep_path_graph_free(&f->graph);
		free(f->block);
		free(f->count);
	}
}

void dep_path_pass_free(struct dep_path_pass *p)
{
	struct dep_path_list *list[] = {
		&p->run, &p->node, &p->transition, &p->function, &p->counter, &p->chain,
		&p->middle, &p->hot, &p->stretch, &p->passed, &p->window, &p->later,
	};
	struct dep_row_map *map[] = {
		&p->run_map, &p->node_map, &p->transition_map, &p->function_map, &p->counter_map,
		&p->stretch_map, &p->sequence_map, &p->window_map,
	};
	size_t i;

	free_functions(p);
	for (i = 0; i < sizeof(list) / sizeof(*list); i++)
		free(list[i]->row);
	for (i = 0; i < sizeof(map) / sizeof(*map); i++)
		dep_row_free(map[i]);
	free(p->file);
	free(p->run_of_step);
	free(p->code_of_step);
	free(p->follower.begin);
	free(p->recent);
	free(p);
}
