/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Table of races by pair of places.
 *
 * A row is a pair of pcs with the flags of each access, the earlier access first. Rows are numbered
 * in the order of their first race, so the same events give the same rows.
 */
#ifndef ADEPT_ANALYZE_RACES_RACE_TABLE_H
#define ADEPT_ANALYZE_RACES_RACE_TABLE_H

#include "detector.h"

/** struct race_row - @first: the first race; @count: number of races */
struct race_row {
	struct race_found first;
	u64 count;
	u64 low, high;		/* lowest and highest byte of all races */
};

struct race_rows;

/** race_rows_create() - an empty table; NULL: no memory */
struct race_rows *race_rows_create(void);
void race_rows_free(struct race_rows *r);

/** race_rows_add() - count @found; 1: new row, 0: old row, -ENOMEM: not counted */
int race_rows_add(struct race_rows *r, const struct race_found *found);

u32 race_rows_count(const struct race_rows *r);
/** race_rows_get() - row @i; valid until the next race_rows_add() */
const struct race_row *race_rows_get(const struct race_rows *r, u32 i);

/** race_rows_report() - race_ops.report(); @arg is a struct race_rows */
void race_rows_report(void *arg, const struct race_found *found);
/** race_rows_lost() - races that race_rows_report() could not add for lack of memory */
u64 race_rows_lost(const struct race_rows *r);

#endif
