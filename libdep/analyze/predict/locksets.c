// SPDX-License-Identifier: LGPL-2.1-or-later
/* Locks, found by their addresses, and interned sets of locks held together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static u32 *slot_of(struct predict *p, u64 address)
{
	u32 i = (u32)(address * 0x9e3779b97f4a7c15ull >> 32) & (p->lock_slots - 1);

	while (p->lock_slot[i] && p->lock[p->lock_slot[i] - 1].address != address)
		i = (i + 1) & (p->lock_slots - 1);
	return &p->lock_slot[i];
}

static int grow(struct predict *p)
{
	u32 i, *old = p->lock_slot, slots = p->lock_slots ? 2 * p->lock_slots : 64;
	u32 *more = predict_alloc(p, slots * sizeof(*more));

	if (!more)
		return -errno;
	p->lock_slot = more;
	p->lock_slots = slots;
	for (i = 0; i < p->nlocks; i++)
		*slot_of(p, p->lock[i].address) = i + 1;
	free(old);
	return 0;
}

int predict_lock_of(struct predict *p, u64 address, u32 *out)
{
	u32 *slot;
	int err = 0;

	if (2 * p->nlocks >= p->lock_slots)
		err = grow(p);
	if (!err)
		predict_more(p, p->lock, p->nlocks, &p->locks_room, &err);
	if (err)
		return err;
	slot = slot_of(p, address);
	if (!*slot) {
		p->lock[p->nlocks] = (struct predict_lock){ .address = address };
		*slot = ++p->nlocks;
	}
	*out = *slot - 1;
	return 0;
}

static int compare(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return (x > y) - (x < y);
}

static u32 hash(const u32 *v, u32 n)
{
	u64 h = n;

	while (n--)
		h = (h ^ *v++) * 0x9e3779b97f4a7c15ull;
	return (u32)(h >> 54);
}

/* Add the set of the @n locks @v. Set 0 is the empty set. */
static int add(struct predict *p, const u32 *v, u32 n, u32 h, u32 *out)
{
	struct predict_set *s;
	int err = 0;

	predict_more(p, p->set, p->nsets, &p->sets_room, &err);

	if (err)
		return err;
	s = &p->set[p->nsets];
	*s = (struct predict_set){ .next = p->set_head[h], .n = n };
	s->v = predict_alloc(p, (n + 1) * sizeof(*v));
	if (!s->v)
		return -errno;
	memcpy(s->v, v, n * sizeof(*v));
	*out = p->nsets++;
	p->set_head[h] = *out + 1;
	return 0;
}

int predict_set(struct predict *p, const struct predict_thread *t, u32 *out)
{
	u32 few[64] = { 0 }, *v = few, i, h;
	int err = 0;

	if (!p->nsets)
		err = add(p, few, 0, hash(few, 0), out);
	if (t->nheld > 64)
		v = malloc(t->nheld * sizeof(*v));
	if (err || !v)
		return err ? err : -ENOMEM;
	for (i = 0; i < t->nheld; i++)
		v[i] = 2 * t->held[i].lock + t->held[i].reading;
	qsort(v, t->nheld, sizeof(*v), compare);
	h = hash(v, t->nheld);
	for (i = p->set_head[h]; i; i = p->set[i - 1].next)
		if (p->set[i - 1].n == t->nheld &&
		    !memcmp(p->set[i - 1].v, v, t->nheld * sizeof(*v)))
			break;
	if (i)
		*out = i - 1;
	else
		err = add(p, v, t->nheld, h, out);
	if (v != few)
		free(v);
	return err;
}

bool predict_exclude(const struct predict *p, u32 a, u32 b)
{
	const struct predict_set *x = &p->set[a], *y = &p->set[b];
	u32 i = 0, j = 0;

	if (!p->nsets)
		return false;
	while (i < x->n && j < y->n) {
		if (x->v[i] / 2 == y->v[j] / 2) {
			/* They exclude each other unless both are held for reading. */
			if (!(x->v[i] & y->v[j] & 1))
				return true;
			i++;
			j++;
		} else if (x->v[i] < y->v[j]) {
			i++;
		} else {
			j++;
		}
	}
	return false;
}
