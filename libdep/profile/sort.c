// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Radix sort.  Small items, which have the place and the number of a row, are sorted by one digit
 * after the other, from the lowest one; digits that are the same in all rows are skipped.  Then the
 * rows are copied once.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "sort.h"

#define BITS	11u
#define DIGITS	(1u << BITS)

struct item {
	u64 pc;
	u32 image, process;
	u32 row, pad;
};

static u64 key(const struct item *it, int field)
{
	return field == 0 ? it->pc : field == 1 ? it->image : it->process;
}

/* Sort by the digit at bit @shift of @field; the result is in @to. */
static void sort_digit(const struct item *from, struct item *to, size_t n, int field, u32 shift)
{
	size_t place[DIGITS] = { 0 }, sum = 0, i, many;

	for (i = 0; i < n; i++)
		place[key(&from[i], field) >> shift & (DIGITS - 1)]++;
	for (i = 0; i < DIGITS; i++) {
		many = place[i];
		place[i] = sum;
		sum += many;
	}
	for (i = 0; i < n; i++)
		to[place[key(&from[i], field) >> shift & (DIGITS - 1)]++] = from[i];
}

/* Return: the sorted items, which are @a or @b. */
static struct item *sort_items(struct item *a, struct item *b, size_t n)
{
	struct item *other;
	u64 differs;
	u32 shift;
	size_t i;
	int field;

	for (field = 0; field < 3; field++) {
		for (differs = 0, i = 1; i < n; i++)
			differs |= key(&a[i], field) ^ key(&a[0], field);
		for (shift = 0; shift < 64 && differs >> shift; shift += BITS) {
			if (!(differs >> shift & (DIGITS - 1)))
				continue;
			sort_digit(a, b, n, field, shift);
			other = a;
			a = b;
			b = other;
		}
	}
	return a;
}

static bool same_place(const struct item *a, const struct item *b)
{
	return a->pc == b->pc && a->image == b->image && a->process == b->process;
}

static void fill(struct item *it, const struct dep_table *t, size_t size,
		 const struct dep_place_fields *at)
{
	const char *row = t->row;
	size_t i;

	for (i = 0; i < t->n; i++, row += size) {
		it[i] = (struct item){ .row = (u32)i };
		memcpy(&it[i].pc, row + at->pc, sizeof(it[i].pc));
		memcpy(&it[i].image, row + at->image, sizeof(it[i].image));
		memcpy(&it[i].process, row + at->process, sizeof(it[i].process));
	}
}

int dep_sort_places(struct dep_table *t, size_t size, const struct dep_place_fields *at,
		    int (*compare)(const void *a, const void *b))
{
	struct item *a, *b, *it;
	size_t i, k;
	char *to;

	if (t->n < 2)
		return 0;
	if (t->n > UINT32_MAX)
		return dep_fail(-EFBIG, "the profile has too many rows");
	a = malloc(t->n * sizeof(*a));
	b = malloc(t->n * sizeof(*b));
	to = malloc(t->n * size);
	if (!a || !b || !to) {
		free(a);
		free(b);
		free(to);
		return dep_fail(-ENOMEM, "rows of the profile");
	}
	fill(a, t, size, at);
	it = sort_items(a, b, t->n);
	for (i = 0; i < t->n; i++)
		memcpy(to + i * size, (char *)t->row + it[i].row * size, size);
	for (i = 0; i < t->n; i = k) {
		for (k = i + 1; k < t->n && same_place(&it[i], &it[k]); k++)
			;
		if (k - i > 1)
			qsort(to + i * size, k - i, size, compare);
	}
	free(a);
	free(b);
	free(t->row);
	t->row = to;
	t->room = t->n;
	return 0;
}
