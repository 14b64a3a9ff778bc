// SPDX-License-Identifier: LGPL-2.1-or-later
/* Counters of paths that have no array of counters. */
#include <errno.h>

#include "pass.h"

/* A path of which nothing is in front has its function in the key, and others a window. */
s64 dep_path_count(struct dep_path_pass *p, const struct dep_path_counter *what)
{
	struct dep_row_map *map = what->before ? &p->sequence_map : &p->counter_map;
	const struct dep_row_key key = {
		.a = what->number, .b = what->before ? what->before : what->function,
		.c = what->block,
	};
	struct dep_path_counter *c;
	bool added;
	s64 i;

	i = dep_path_index(p, map, &key, &p->counter, sizeof(*c), &added);
	if (i == -ENOSPC)
		p->not_counted += what->count;
	if (i < 0)
		return i;
	c = dep_path_counter_at(p, (u32)i);
	if (added)
		*c = *what;
	else
		c->count += what->count;
	return i;
}

int dep_path_count_whole(struct dep_path_pass *p, u32 function, u64 number, u64 times)
{
	const struct dep_path_counter what = {
		.number = number, .count = times, .function = function, .block = DEP_PATH_NO,
	};
	s64 i = dep_path_count(p, &what);

	return i < 0 && i != -ENOSPC ? (int)i : 0;
}
