// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "table.h"

void *dep_table_add(struct dep_table *t, size_t row_size)
{
	size_t room = t->room ? t->room * 2 : 64;
	void *p;

	if (t->n == t->room) {
		p = realloc(t->row, room * row_size);
		if (!p) {
			dep_fail(-ENOMEM, "cannot enlarge a table of the store");
			return NULL;
		}
		t->row = p;
		t->room = room;
	}
	p = (char *)t->row + t->n++ * row_size;
	return memset(p, 0, row_size);
}

/* Index of the first row whose serial is not below @serial. */
static size_t lower_bound(const struct dep_table *t, size_t row_size, u32 serial)
{
	size_t lo = 0, hi = t->n, mid;
	u32 has;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		memcpy(&has, (char *)t->row + mid * row_size, sizeof(has));
		if (has < serial)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void *dep_table_find(const struct dep_table *t, size_t row_size, u32 serial)
{
	size_t i = lower_bound(t, row_size, serial);
	char *row = i < t->n ? (char *)t->row + i * row_size : NULL;

	return row && !memcmp(row, &serial, sizeof(serial)) ? row : NULL;
}

/* Count @bytes that an insertion moves; false if that exceeds the limit of the table. */
static bool may_move(struct dep_table *t, u64 bytes)
{
	if (!t->may_move)
		return true;
	if (bytes >= t->may_move) {
		dep_fail(-EBADMSG, "serial numbers of processes or threads are in disorder");
		return false;
	}
	t->may_move -= bytes;
	return true;
}

void *dep_table_of(struct dep_table *t, size_t row_size, u32 serial)
{
	size_t i = lower_bound(t, row_size, serial);
	char *row = dep_table_find(t, row_size, serial);

	if (row)
		return row;
	if (!may_move(t, (t->n - i) * row_size))
		return NULL;
	if (!dep_table_add(t, row_size))
		return NULL;
	row = (char *)t->row + i * row_size;
	memmove(row + row_size, row, (t->n - 1 - i) * row_size);
	memset(row, 0, row_size);
	memcpy(row, &serial, sizeof(serial));
	return row;
}
