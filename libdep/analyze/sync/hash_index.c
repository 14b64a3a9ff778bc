// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash_index.h"

/* initial number of slots, a power of two; at most half of the slots are used */
#define ROOM	64u

static void put(struct sync_index *x, struct sync_index_slot what)
{
	u32 i = what.hash & (x->room - 1);

	while (x->slot[i].at)
		i = (i + 1) & (x->room - 1);
	x->slot[i] = what;
}

static int grow(struct sync_index *x)
{
	struct sync_index old = *x;
	u32 i;

	x->room = old.room ? 2 * old.room : ROOM;
	x->slot = calloc(x->room, sizeof(*x->slot));
	if (!x->slot) {
		*x = old;
		return -ENOMEM;
	}
	for (i = 0; i < old.room; i++)
		if (old.slot[i].at)
			put(x, old.slot[i]);
	free(old.slot);
	return 0;
}

int sync_index_add(struct sync_index *x, u64 hash, u32 at)
{
	if (x->n >= x->room / 2 && grow(x))
		return -ENOMEM;
	put(x, (struct sync_index_slot){ (u32)hash, at + 1 });
	x->n++;
	return 0;
}

bool sync_index_next(const struct sync_index *x, u64 hash, u32 *i, u32 *at)
{
	const struct sync_index_slot *s;

	while (x->room) {
		s = &x->slot[((u32)hash + *i) & (x->room - 1)];
		if (!s->at)
			return false;
		++*i;
		if (s->hash != (u32)hash)
			continue;
		*at = s->at - 1;
		return true;
	}
	return false;
}

void sync_index_free(struct sync_index *x)
{
	free(x->slot);
	memset(x, 0, sizeof(*x));
}

void *sync_serials_find(const struct sync_serials *s, u32 serial)
{
	u64 hash = sync_index_mix(0, serial);
	u32 i = 0, at;

	while (sync_index_next(&s->index, hash, &i, &at))
		if (s->v[at].serial == serial)
			return s->v[at].what;
	return NULL;
}

int sync_serials_add(struct sync_serials *s, u32 serial, void *what)
{
	u32 room = s->room ? 2 * s->room : 16;
	void *more;

	if (s->n == s->room) {
		more = realloc(s->v, room * sizeof(*s->v));
		if (!more)
			return -ENOMEM;
		s->v = more;
		s->room = room;
	}
	if (sync_index_add(&s->index, sync_index_mix(0, serial), s->n))
		return -ENOMEM;
	s->v[s->n++] = (struct sync_serial){ serial, what };
	return 0;
}

void sync_serials_free(struct sync_serials *s)
{
	sync_index_free(&s->index);
	free(s->v);
	memset(s, 0, sizeof(*s));
}
