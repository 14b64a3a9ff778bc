/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Races by the places they are between.
 *
 * A row is a pair of pcs with what each did (flags), the earlier access first.  Rows are
 * numbered in the order in which they came up, which is that of the events: the same
 * events give the same rows.
 */
#ifndef ADEPT_ANALYZE_RACES_RACE_TABLE_H
#define ADEPT_ANALYZE_RACES_RACE_TABLE_H

#include "detector.h"

/** struct race_row - @first: the first occurrence; @count: how many there were */
struct race_row {
	struct race_found first;
	u64 count;
	u64 low, high;		/* first and last byte that it happened at */
};

struct race_rows;

/** race_rows_create() - no rows; NULL: no memory */
struct race_rows *race_rows_create(void);
void race_rows_free(struct race_rows *r);

/** race_rows_add() - count @found; 1 if it is a new row, 0 if not, -ENOMEM: it is lost */
int race_rows_add(struct race_rows *r, const struct race_found *found);

u32 race_rows_count(const struct race_rows *r);
/** race_rows_get() - row @i; valid until the next one is added */
const struct race_row *race_rows_get(const struct race_rows *r, u32 i);

/** race_rows_report() - a struct race_ops report() whose @arg is a struct race_rows */
void race_rows_report(void *arg, const struct race_found *found);
/** race_rows_lost() - how many race_rows_report() could not add for want of memory */
u64 race_rows_lost(const struct race_rows *r);

#endif
