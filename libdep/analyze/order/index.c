// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "index.h"

#define ROOM	64u	/* at first; a power of two, of which no more than half is used */

static void put(struct order_index *x, struct order_index_slot what)
{
	u32 i = what.hash & (x->room - 1);

	while (x->slot[i].at)
		i = (i + 1) & (x->room - 1);
	x->slot[i] = what;
}

static int grow(struct order_index *x)
{
	struct order_index old = *x;
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

int order_index_add(struct order_index *x, u64 hash, u32 at)
{
	if (x->n >= x->room / 2 && grow(x))
		return -ENOMEM;
	put(x, (struct order_index_slot){ (u32)hash, at + 1 });
	x->n++;
	return 0;
}

bool order_index_next(const struct order_index *x, u64 hash, u32 *i, u32 *at)
{
	const struct order_index_slot *s;

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

void order_index_free(struct order_index *x)
{
	free(x->slot);
	memset(x, 0, sizeof(*x));
}
