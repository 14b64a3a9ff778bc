// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>

#include "clock_history.h"

#define POINT_EVERY	1024u	/* changes after which a point (a copy of the vector) is added */
#define MANY		64u	/* if a version has more changes, a point replaces them */

static int add_point(struct race_mem *m, struct race_history *h, u32 version,
		     struct race_vec *vec)
{
	int ret = race_history_grow(m, (void **)&h->point, &h->point_room, h->npoints,
				    sizeof(*h->point));

	if (ret)
		return ret;
	h->point[h->npoints++] = (struct race_point){ h->n, race_vec_ref(vec), version };
	return 0;
}

int race_history_begin(struct race_mem *m, struct race_history *h, struct race_vec *vec)
{
	return add_point(m, h, 0, vec);
}

bool race_history_rewind(struct race_mem *m, struct race_history *h)
{
	bool dropped = false;
	size_t i;

	while (h->npoints && h->point[h->npoints - 1].version > h->written) {
		race_vec_put(m, h->point[--h->npoints].vec);
		dropped = true;
	}
	while (h->n && h->change[h->n - 1].version > h->written) {
		h->n--;
		dropped = true;
	}
	/* A point's vector may contain changes that were removed: limit its @at. */
	for (i = h->npoints; i-- && h->point[i].at > h->n; )
		h->point[i].at = h->n;
	return dropped;
}

int race_history_flush(struct race_mem *m, struct race_history *h, u32 version,
		       struct race_vec *vec, size_t before, bool whole)
{
	u32 every = vec && vec->n * RACE_CHUNK > POINT_EVERY ? vec->n * RACE_CHUNK : POINT_EVERY;

	if (h->n - before > MANY) {
		h->n = before;
		whole = true;
	}
	if (!whole && h->npoints && h->n - h->point[h->npoints - 1].at < every)
		return 0;
	return add_point(m, h, version, vec);
}

/* Find the last point whose version is not above @version. */
static const struct race_point *find_point(const struct race_history *h, u32 version)
{
	size_t low = 0, high = h->npoints, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (h->point[mid].version <= version)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &h->point[low - 1] : NULL;
}

int race_history_join(struct race_mem *m, const struct race_history *h, u32 version,
		      struct race_clock *c, struct race_history *log, u32 at)
{
	const struct race_point *p = find_point(h, version);
	struct race_clock then = { 0 };
	int ret, changed = 0;
	size_t i;

	if (p && p->vec) {
		/*
		 * Set the component of @c's owner in @then to the known value, so that it stays
		 * unchanged in @c.
		 */
		then.vec = p->vec;
		then.owner = c->owner;
		then.epoch = 1;
		ret = race_clock_join(m, c, &then, log, at);
		if (ret < 0)
			return ret;
		changed |= ret;
	}
	for (i = p ? p->at : 0; i < h->n && h->change[i].version <= version; i++) {
		if (h->change[i].thread == c->owner)
			continue;
		ret = race_clock_raise(m, c, h->change[i].thread, h->change[i].value, log, at);
		if (ret < 0)
			return ret;
		changed |= ret;
	}
	return changed;
}

/*
 * Keep a point only if the lookup of a version in @named begins at it. The @at of a point is the
 * index of the first change that its vector lacks, or a lower index: applying a change twice is
 * harmless.
 */
static void prune_points(struct race_mem *m, struct race_history *h, const u64 *named, size_t n)
{
	size_t i, kept = 0, v = 0;

	for (i = 0; i < h->npoints; i++) {
		struct race_point *p = &h->point[i];

		while (v < n && (u32)named[v] < p->version)
			v++;
		if (v < n && (i + 1 == h->npoints || (u32)named[v] < p[1].version))
			h->point[kept++] = *p;
		else
			race_vec_put(m, p->vec);
	}
	h->npoints = kept;
}

/* Remove the changes before the first point, which no lookup reads. */
static void trim(struct race_mem *m, struct race_history *h)
{
	size_t i, first = h->npoints ? h->point[0].at : h->n, room;
	struct race_change *c;

	h->n -= first;
	if (h->n && first)
		memmove(h->change, h->change + first, h->n * sizeof(*h->change));
	for (i = 0; i < h->npoints; i++)
		h->point[i].at -= first;
	room = h->n < 4 ? 4 : h->n;
	if (h->room < 2 * room)
		return;
	c = realloc(h->change, room * sizeof(*c));
	if (!c)
		return;
	race_mem_give(m, RACE_MEM_CLOCKS, (h->room - room) * sizeof(*c));
	h->change = c;
	h->room = room;
}

void race_history_prune(struct race_mem *m, struct race_history *h, const u64 *named, size_t n,
			size_t *scratch)
{
	size_t i, p = 0, g = 0, out = 0, begin = 0;
	struct race_change c;

	for (i = 0; i < h->n; i++) {
		c = h->change[i];
		for (; g < n && (u32)named[g] < c.version; g++)
			begin = out;
		for (; p < h->npoints && h->point[p].at <= i; p++)
			h->point[p].at = begin;
		if (g == n)
			break;
		if (scratch[c.thread] <= begin) {
			h->change[out++] = (struct race_change){ (u32)named[g], c.thread, 0 };
			scratch[c.thread] = out;
		}
		h->change[scratch[c.thread] - 1].value = c.value;
	}
	for (i = 0; i < out; i++)
		scratch[h->change[i].thread] = 0;
	for (; p < h->npoints; p++)
		h->point[p].at = out;
	h->n = out;
	prune_points(m, h, named, n);
	trim(m, h);
}

void race_history_free(struct race_mem *m, struct race_history *h)
{
	size_t i;

	for (i = 0; i < h->npoints; i++)
		race_vec_put(m, h->point[i].vec);
	race_free(m, RACE_MEM_CLOCKS, h->point, h->point_room * sizeof(*h->point));
	race_free(m, RACE_MEM_CLOCKS, h->change, h->room * sizeof(*h->change));
	memset(h, 0, sizeof(*h));
}
