// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>

#include "race_table.h"

struct race_rows {
	struct race_row *row;
	u32 n, room;
	u32 *slot;		/* hash table of row numbers + 1; has twice the room of @row */
	u64 lost;
};

static u32 hash(const struct race_found *f)
{
	u64 h = (f->prior.pc ^ (u64)f->prior.flags << 56) * 0x9e3779b97f4a7c15u;

	h = (h ^ h >> 29 ^ f->current.pc ^ (u64)f->current.flags << 56) * 0xbf58476d1ce4e5b9u;
	return h >> 32;
}

static bool same_place(const struct race_access *a, const struct race_access *b)
{
	return a->pc == b->pc && a->flags == b->flags;
}

static u32 *slot_of(const struct race_rows *r, const struct race_found *f)
{
	u32 mask = 2 * r->room - 1, i = hash(f) & mask;
	const struct race_found *g;

	for (; r->slot[i]; i = (i + 1) & mask) {
		g = &r->row[r->slot[i] - 1].first;
		if (same_place(&g->prior, &f->prior) && same_place(&g->current, &f->current))
			break;
	}
	return &r->slot[i];
}

static int grow(struct race_rows *r)
{
	u32 room = r->room ? r->room * 2 : 64, i, *slot;
	struct race_row *row;

	if (room > 1u << 30)
		return -ENOMEM;
	slot = calloc(2ul * room, sizeof(*slot));
	row = slot ? realloc(r->row, room * sizeof(*row)) : NULL;
	if (!row) {
		free(slot);
		return -ENOMEM;
	}
	free(r->slot);
	r->row = row;
	r->room = room;
	r->slot = slot;
	for (i = 0; i < r->n; i++)
		*slot_of(r, &r->row[i].first) = i + 1;
	return 0;
}

struct race_rows *race_rows_create(void)
{
	return calloc(1, sizeof(struct race_rows));
}

void race_rows_free(struct race_rows *r)
{
	if (!r)
		return;
	free(r->row);
	free(r->slot);
	free(r);
}

int race_rows_add(struct race_rows *r, const struct race_found *found)
{
	u64 last = found->address + found->size - 1;
	struct race_row *row;
	u32 *slot;
	int new;

	if (r->n == r->room && grow(r))
		return -ENOMEM;
	slot = slot_of(r, found);
	new = !*slot;
	if (new) {
		*slot = ++r->n;
		r->row[*slot - 1] = (struct race_row){ *found, 0, found->address, last };
	}
	row = &r->row[*slot - 1];
	row->count++;
	if (row->low > found->address)
		row->low = found->address;
	if (row->high < last)
		row->high = last;
	return new;
}

u32 race_rows_count(const struct race_rows *r)
{
	return r->n;
}

const struct race_row *race_rows_get(const struct race_rows *r, u32 i)
{
	return &r->row[i];
}

void race_rows_report(void *arg, const struct race_found *found)
{
	struct race_rows *r = arg;

	if (race_rows_add(r, found) < 0)
		r->lost++;
}

u64 race_rows_lost(const struct race_rows *r)
{
	return r->lost;
}
