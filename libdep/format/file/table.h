/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Growing arrays of rows; some are sorted by a serial number that each row begins with. */
#ifndef ADEPT_FORMAT_FILE_TABLE_H
#define ADEPT_FORMAT_FILE_TABLE_H

#include <stddef.h>

#include "libdep/abi/types.h"

/**
 * struct dep_table - a growing array
 * @may_move: bytes that insertions may still move, at least 1; 0: no limit.  Serials normally
 *	ascend, so few rows move; in a forged file each insertion could move all rows.
 */
struct dep_table {
	void *row;
	size_t n, room;
	u64 may_move;
};

/* Value of may_move for tables made from untrusted files: seconds of work instead of hours. */
#define DEP_TABLE_MOVES	(16ull << 30)

/** dep_table_add() - append a zeroed row; NULL without memory */
void *dep_table_add(struct dep_table *t, size_t row_size);

/** dep_table_find() - the row of @serial in a table sorted by serial, or NULL */
void *dep_table_find(const struct dep_table *t, size_t row_size, u32 serial);

/**
 * dep_table_of() - like dep_table_find(), but insert a missing row
 *
 * An insertion moves other rows.  Return: the row; NULL without memory, or beyond @may_move.
 */
void *dep_table_of(struct dep_table *t, size_t row_size, u32 serial);

#endif
