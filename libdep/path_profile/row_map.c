// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <xxhash.h>

#include "row_map.h"

/* The slot of @key, or the free slot where it belongs.  At least one slot is free. */
static struct dep_row_slot *find(const struct dep_row_map *m, const struct dep_row_key *key)
{
	size_t mask = m->room - 1;
	size_t i = XXH3_64bits_withSeed(key, sizeof(*key), m->seed) & mask;
	struct dep_row_slot *s;

	for (;; i = (i + 1) & mask) {
		s = m->slot + i;
		if (!s->index || (s->key.a == key->a && s->key.b == key->b && s->key.c == key->c))
			return s;
	}
}

s64 dep_row_find(const struct dep_row_map *m, const struct dep_row_key *key)
{
	return m->room ? (s64)find(m, key)->index - 1 : -1;
}

static int enlarge(struct dep_row_map *m)
{
	struct dep_row_map to = { .n = m->n, .room = m->room ? 2 * m->room : 256,
				    .seed = m->seed };
	size_t i;

	/* Without a random seed, forged keys can make it slow, and no more. */
	if (!m->room && getrandom(&to.seed, sizeof(to.seed), 0) != sizeof(to.seed))
		to.seed = 0;
	to.slot = calloc(to.room, sizeof(*to.slot));
	if (!to.slot)
		return -ENOMEM;
	for (i = 0; i < m->room; i++)
		if (m->slot[i].index)
			*find(&to, &m->slot[i].key) = m->slot[i];
	free(m->slot);
	*m = to;
	return 0;
}

int dep_row_set(struct dep_row_map *m, const struct dep_row_key *key, u32 index)
{
	int err;

	if (2 * (m->n + 1) > m->room) {
		err = enlarge(m);
		if (err)
			return err;
	}
	*find(m, key) = (struct dep_row_slot){ .key = *key, .index = index + 1 };
	m->n++;
	return 0;
}

void dep_row_free(struct dep_row_map *m)
{
	free(m->slot);
	*m = (struct dep_row_map){ 0 };
}
