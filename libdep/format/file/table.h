/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Growing arrays of rows; some are sorted by a serial number that each row begins with. */
#ifndef ADEPT_FORMAT_FILE_TABLE_H
#define ADEPT_FORMAT_FILE_TABLE_H

#include <stddef.h>

#include "libdep/abi/types.h"

/**
 * struct dep_table - one such array
 * @may_move: bytes of rows that insertions may still move, if not 0; then 1 is the least.  Serials
 *	are given in ascending order, so few rows move; of a forged file each insertion may move
 *	all of them.
 */
struct dep_table {
	void *row;
	size_t n, room;
	u64 may_move;
};

/* For tables that are made of what somebody else wrote: seconds, and not hours. */
#define DEP_TABLE_MOVES	(16ull << 30)

/** dep_table_add() - a zeroed row at the end, or NULL without memory */
void *dep_table_add(struct dep_table *t, size_t row_size);

/** dep_table_find() - the row of @serial in a table sorted by serial, or NULL */
void *dep_table_find(const struct dep_table *t, size_t row_size, u32 serial);

/**
 * dep_table_of() - as dep_table_find(), but a missing row is inserted
 *
 * Rows move when one is inserted.  Return: the row, or NULL without memory, or if more would move
 * than may.
 */
void *dep_table_of(struct dep_table *t, size_t row_size, u32 serial);

#endif
