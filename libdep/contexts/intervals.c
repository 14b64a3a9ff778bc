// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Rows of contexts by interval of time.
 *
 * Threads come one after the other, and each goes through the time again, so rows are found by
 * interval and context in a hash table.  Their number depends on the intervals and on the contexts,
 * not on the segments.
 */
#include <errno.h>
#include <stdlib.h>

#include "intervals.h"
#include "libdep/format/file/error.h"

#define ROOM_MIN	256u
#define ROWS_MAX	(1u << 30)	/* more would not fit in the numbers of the hash table */

static u32 place_of(const struct dep_interval_rows *t, const struct dep_context_interval *in)
{
	u64 h = (in->start_ns + in->context * 0xff51afd7ed558ccdull) * 0x9e3779b97f4a7c15ull;

	return (u32)(h >> 32) & t->map_mask;
}

static bool same(const struct dep_context_interval *a, const struct dep_context_interval *b)
{
	return a->start_ns == b->start_ns && a->context == b->context;
}

/* The slot of the row like @in, or the free one where it belongs. */
static u32 *find(const struct dep_interval_rows *t, const struct dep_context_interval *in)
{
	u32 at = place_of(t, in);

	while (t->map[at] && !same(&t->row[t->map[at] - 1], in))
		at = (at + 1) & t->map_mask;
	return &t->map[at];
}

/* The hash table has twice as many slots as there is room for rows. */
static int grow(struct dep_interval_rows *t)
{
	size_t room = t->room ? 2 * t->room : ROOM_MIN, i;
	struct dep_context_interval *row = realloc(t->row, room * sizeof(*row));
	u32 *map;

	if (!row)
		return -ENOMEM;
	t->row = row;
	map = calloc(2 * room, sizeof(*map));
	if (!map)
		return -ENOMEM;
	free(t->map);
	t->map = map;
	t->map_mask = (u32)(2 * room - 1);
	t->room = room;
	for (i = 0; i < t->n; i++)
		*find(t, &t->row[i]) = (u32)i + 1;
	return 0;
}

int dep_interval_rows_add(struct dep_interval_rows *t, const struct dep_context_interval *in,
			  u64 limit)
{
	struct dep_context_interval *row;
	u32 *slot = t->map ? find(t, in) : NULL;

	if (slot && *slot) {
		row = &t->row[*slot - 1];
		row->calls += in->calls;
		row->insns += in->insns;
		row->refs += in->refs;
		return 0;
	}
	if (t->n >= limit || t->n >= ROWS_MAX)
		return dep_fail(-EFBIG, "the contexts of all intervals have more than %zu rows, "
				"which need more memory than is allowed; longer intervals need "
				"less", t->n);
	if (t->n == t->room) {
		if (grow(t))
			return dep_fail(-ENOMEM, "contexts");
		slot = find(t, in);
	}
	t->row[t->n++] = *in;
	*slot = (u32)t->n;
	return 0;
}

void dep_interval_rows_free(struct dep_interval_rows *t)
{
	free(t->row);
	free(t->map);
}
