// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>

#include "clock_log.h"

int race_history_grow(struct race_mem *m, void **p, size_t *room, size_t n, size_t size)
{
	size_t more = *room ? *room * 2 : 4;
	void *q;

	if (n < *room)
		return 0;
	q = race_grow(m, RACE_MEM_CLOCKS, *p, *room * size, more * size);
	if (!q)
		return -ENOMEM;
	*p = q;
	*room = more;
	return 0;
}

int race_history_add(struct race_mem *m, struct race_history *h, u32 version, u32 thread,
		     u64 value)
{
	int ret = race_history_grow(m, (void **)&h->change, &h->room, h->n, sizeof(*h->change));

	if (ret)
		return ret;
	h->change[h->n++] = (struct race_change){ version, thread, value };
	return 0;
}
