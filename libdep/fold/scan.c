// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Deliver the exits that a fold has marked, and where they lead.
 *
 * Nearly all exits are skipped by one bit each.
 */
#include <stdlib.h>

#include "walk.h"

#define AT_ONCE	8
/* Exits that were seen last, with the next one: most go again where they went before. */
#define SEEN	4096u		/* power of 2 */

/**
 * struct dep_scan - what is looked at in a control column
 * @end: ids below have a bit in @look; that of @end stands for all others, and is set
 * @look: by id, a bit for marked exits, events, and ids that no exit has
 */
struct dep_scan {
	struct { u32 id, next; } seen[SEEN];
	u32 end;
	u64 look[];
};

static bool is_skipped(const struct dep_walk *w, const u8 *marked, u32 id)
{
	u32 number = id >= ADEPT_FIRST_EXIT ? dep_number_of(w->numbers, id) : 0;

	return number && !marked[number];
}

struct dep_scan *dep_scan_new(const struct dep_walk *w)
{
	const u8 *marked = w->folds[0]->marked(w->part[0]);
	u32 end = w->numbers->nlow, id;
	struct dep_scan *s = calloc(1, sizeof(*s) + (end / 64 + 1) * sizeof(s->look[0]));

	if (!s)
		return NULL;
	s->end = end;
	for (id = 0; id <= end; id++)
		if (id == end || !is_skipped(w, marked, id))
			s->look[id / 64] |= 1ull << id % 64;
	return s;
}

static inline u32 looked_at(const struct dep_scan *s, u32 id)
{
	u32 i = id < s->end ? id : s->end;

	return (u32)(s->look[i / 64] >> i % 64) & 1;
}

static inline u32 place(u32 id, u32 next)
{
	return (id * 61u ^ next * 7u) & (SEEN - 1);
}

/* Events, and exits in front of events, are never here.  A free place has id 0. */
static inline bool is_seen(const struct dep_scan *s, u32 id, u32 next)
{
	u32 at = place(id, next);

	return id && s->seen[at].id == id && s->seen[at].next == next;
}

/* The first word from @at on that has to be looked at; @end: there is none. */
static const u32 *skip(const struct dep_scan *s, const u32 *at, const u32 *end)
{
	u32 look, i;

	for (; end - at > AT_ONCE; at += AT_ONCE) {
		for (look = i = 0; i < AT_ONCE; i++)
			look |= looked_at(s, at[i]) << i;
		for (; look; look &= look - 1) {
			i = (u32)__builtin_ctz(look);
			if (!is_seen(s, at[i], at[i + 1]))
				return at + i;
		}
	}
	while (at < end && !looked_at(s, *at))
		at++;
	return at;
}

static int take_exit(struct dep_walk *w, const struct dep_cursor *c, u32 id)
{
	u32 next = c->at < c->end ? *c->at : 0, number = dep_number_of(w->numbers, id);
	struct dep_scan *s = w->scan;

	if (!number)
		return dep_walk_damaged(w, "the store has no exit", id);
	/* An id above @end need not be a marked one. */
	if (!w->folds[0]->marked(w->part[0])[number])
		return 0;
	if (next >= ADEPT_FIRST_EXIT) {
		s->seen[place(id, next)].id = id;
		s->seen[place(id, next)].next = next;
	}
	return w->folds[0]->leads(w->part[0], number, dep_walk_goes_on(w, number, c));
}

int dep_scan_column(struct dep_walk *w, struct dep_cursor *c)
{
	u32 id, words;
	int err = 0;

	while (!err) {
		c->at = skip(w->scan, c->at, c->end);
		if (c->at == c->end)
			break;
		id = *c->at++;
		if (id >= ADEPT_FIRST_EXIT) {
			err = take_exit(w, c, id);
			continue;
		}
		words = dep_walk_payload(c, id);
		if (!words)
			err = dep_walk_damaged(w, "the control column has no complete event", id);
		c->at += words;
	}
	return err;
}
