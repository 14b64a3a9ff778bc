// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>

#include "libdep/format/file/error.h"
#include "count_map.h"

/* The slot of @key, or the free slot where it belongs.  At least one slot is free. */
static struct dep_counter *find(const struct dep_count_map *m, const struct dep_counter *key)
{
	size_t mask = m->room - 1;
	size_t i = XXH3_64bits(key, offsetof(struct dep_counter, count)) & mask;
	struct dep_counter *s;

	for (;; i = (i + 1) & mask) {
		s = &m->slot[i];
		if (!s->count || (s->a == key->a && s->b == key->b && s->c == key->c &&
				  s->d == key->d && s->e == key->e))
			return s;
	}
}

static int enlarge(struct dep_count_map *m)
{
	struct dep_count_map to = { .n = m->n, .room = m->room ? 2 * m->room : 256 };
	size_t i;

	to.slot = calloc(to.room, sizeof(*to.slot));
	if (!to.slot)
		return dep_fail(-ENOMEM, "counters");
	for (i = 0; i < m->room; i++)
		if (m->slot[i].count)
			*find(&to, &m->slot[i]) = m->slot[i];
	free(m->slot);
	*m = to;
	return 0;
}

int dep_count_add(struct dep_count_map *m, const struct dep_counter *key, u64 more)
{
	struct dep_counter *s;
	int err;

	if (2 * (m->n + 1) > m->room) {
		err = enlarge(m);
		if (err)
			return err;
	}
	s = find(m, key);
	if (!s->count) {
		*s = *key;
		s->count = 0;
		m->n++;
	}
	s->count += more;
	return 0;
}

int dep_count_join(struct dep_count_map *to, const struct dep_count_map *from)
{
	size_t i;
	int err = 0;

	for (i = 0; i < from->room && !err; i++)
		if (from->slot[i].count)
			err = dep_count_add(to, &from->slot[i], from->slot[i].count);
	return err;
}

void dep_count_free(struct dep_count_map *m)
{
	free(m->slot);
	*m = (struct dep_count_map){ 0 };
}
