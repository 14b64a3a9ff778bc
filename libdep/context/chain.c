// SPDX-License-Identifier: LGPL-2.1-or-later
/* Frames of a context, and the erasure of loops in tail chains. */
#include <string.h>

#include "array.h"
#include "chain.h"

int dep_cc_chain_add(struct dep_cc_chain *c, const struct dep_cc_frame *f)
{
	if (c->n >= c->max)
		return -E2BIG;
	if (dep_cc_room_for(&c->frame, c->n, &c->room, sizeof(*c->frame)))
		return -ENOMEM;
	c->frame[c->n++] = *f;
	return 0;
}

static struct dep_cc_last *last_of(struct dep_cc_chain *c, u32 function)
{
	size_t at = dep_cc_hash(function, 0);

	for (;; at++) {
		at &= c->last_room - 1;
		if (c->last[at].at == UINT32_MAX || c->last[at].function == function)
			return c->last + at;
	}
}

static int make_room(struct dep_cc_chain *c, size_t n)
{
	size_t room = 64;

	if (n >= UINT32_MAX)
		return -E2BIG;
	while (room < 2 * n)
		room *= 2;
	if (room > c->last_room) {
		free(c->last);
		c->last_room = 0;
		c->last = calloc(room, sizeof(*c->last));
		if (!c->last)
			return -ENOMEM;
		c->last_room = room;
	}
	memset(c->last, 0xff, c->last_room * sizeof(*c->last));
	return 0;
}

/*
 * Frames are innermost first, so a function's last entry is its first place in the array.  From the
 * called function on: keep the frame, go to the function's last entry, and on with the next one.
 */
int dep_cc_chain_erase(struct dep_cc_chain *c, size_t from)
{
	struct dep_cc_frame *f = c->frame;
	struct dep_cc_last *l;
	size_t i, to;
	int err;

	if (c->n - from < 2)
		return 0;
	err = make_room(c, c->n - from);
	if (err)
		return err;
	for (i = from; i < c->n; i++) {
		l = last_of(c, f[i].function);
		if (l->at == UINT32_MAX)
			*l = (struct dep_cc_last){ f[i].function, (u32)(i - from) };
	}
	to = c->n;
	i = c->n - 1;
	for (;;) {
		f[--to] = f[i];
		i = from + last_of(c, f[to].function)->at;
		if (i == from)
			break;
		i--;
	}
	memmove(f + from, f + to, (c->n - to) * sizeof(*f));
	c->n -= to - from;
	return 0;
}

void dep_cc_chain_free(struct dep_cc_chain *c)
{
	free(c->frame);
	free(c->last);
	c->frame = NULL;
	c->last = NULL;
	c->n = c->room = c->last_room = 0;
}
