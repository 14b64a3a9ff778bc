/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Table of races by pair of code locations.
 *
 * A row stands for all races between the same two pcs with the same flags of each access, the
 * earlier access first. Rows are numbered in the order of their first races, so the same events
 * give the same rows.
 */
#ifndef ADEPT_ANALYZE_RACES_RACE_TABLE_H
#define ADEPT_ANALYZE_RACES_RACE_TABLE_H

#include "detector.h"

/**
 * struct race_row - a pair of code locations; @first: its first race; @count: its number of races
 */
struct race_row {
	struct race_found first;
	u64 count;
	u64 low, high;		/* lowest and highest address of the bytes in all these races */
};

struct race_rows;

/** race_rows_create() - make an empty table; NULL: no memory */
struct race_rows *race_rows_create(void);
void race_rows_free(struct race_rows *r);

/** race_rows_add() - add the race @found; 1: to a new row, 0: to an old one, -ENOMEM: not added */
int race_rows_add(struct race_rows *r, const struct race_found *found);

u32 race_rows_count(const struct race_rows *r);
/** race_rows_get() - get row @i; valid until the next race_rows_add() */
const struct race_row *race_rows_get(const struct race_rows *r, u32 i);

/** race_rows_report() - callback for race_ops.report: add a race to the struct race_rows @arg */
void race_rows_report(void *arg, const struct race_found *found);
/** race_rows_lost() - number of races that race_rows_report() could not add for lack of memory */
u64 race_rows_lost(const struct race_rows *r);

#endif
