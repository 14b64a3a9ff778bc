// SPDX-License-Identifier: LGPL-2.1-or-later
/* Learn stack pointers by recovering a segment: they are found by the ordinal of the branch. */
#include <errno.h>
#include <stdlib.h>

#include "dep/recover.h"
#include "walk.h"

static int take(void *arg, const struct dep_segment *seg, const struct dep_item *items, size_t n)
{
	struct dep_learned *l = arg;
	struct dep_learned_sp *more;
	size_t i, room;

	(void)seg;
	for (i = 0; i < n; i++) {
		if (items[i].kind != DEP_ITEM_CALL)
			continue;
		if (l->n == l->room) {
			room = l->room ? 2 * l->room : 4096;
			more = realloc(l->at, room * sizeof(*more));
			if (!more)
				return -ENOMEM;
			l->at = more;
			l->room = room;
		}
		l->at[l->n++] = (struct dep_learned_sp){ items[i].call.pc, items[i].call.sp };
	}
	return 0;
}

/* Count segment @seg among those that could not be recovered, unless it was counted before. */
static void count_unread(struct dep_walk *w, u32 seg)
{
	const struct dep_segment *segs;
	u8 bit = (u8)(1 << seg % 8);

	if (!w->is_unread)
		w->is_unread = calloc(dep_store_segments(w->store, &segs) / 8 + 1, 1);
	if (w->is_unread && w->is_unread[seg / 8] & bit)
		return;
	w->unread++;
	if (w->is_unread)
		w->is_unread[seg / 8] |= bit;
}

static struct dep_learned *learned(struct dep_walk *w, u32 seg)
{
	/* Slots of frames that began before are looked for in order, so one other will do. */
	struct dep_learned *l = w->learned + (seg != w->seg);
	const struct dep_sink sink = {
		.want = DEP_WANT_CALLS | DEP_WANT_JUMPS, .batch = take, .arg = l,
	};
	const struct dep_segment *segs;

	if (l->seg == seg)
		return l;
	if (seg == w->seg && w->learned[1].seg == seg)
		return w->learned + 1;
	dep_store_segments(w->store, &segs);
	l->seg = seg;
	l->n = 0;
	w->recovered++;
	/* What was recovered before an error is right. */
	if (dep_recover_segment(w->store, segs + seg - 1, &sink, NULL))
		count_unread(w, seg);
	return l;
}

u64 dep_learn(struct dep_walk *w, u32 seg, u64 ordinal)
{
	struct dep_learned *l;

	if (!seg)
		return 0;
	l = learned(w, seg);
	return ordinal < l->n ? l->at[ordinal].sp : 0;
}

u64 dep_learn_last(struct dep_walk *w)
{
	return w->branches ? dep_learn(w, w->seg, w->branches - 1) : 0;
}

void dep_learned_free(struct dep_walk *w)
{
	free(w->learned[0].at);
	free(w->learned[1].at);
	free(w->is_unread);
}
