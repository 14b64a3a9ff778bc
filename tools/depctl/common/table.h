/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text tables.
 *
 * Columns are as wide as their widest cell.  A table is never wider than the terminal:
 *  - "..." replaces the middle of cells in TABLE_SHORTEN columns.
 *  - Columns that still do not fit form a second table, which repeats the first column.
 *  - "..." replaces the middle of the free text at the end of a row.  If there is little room for
 *    the free text, it gets a line of its own instead.
 */
#ifndef DEPCTL_COMMON_TABLE_H
#define DEPCTL_COMMON_TABLE_H

#include <stddef.h>
#include <stdio.h>

#include "output.h"

#define TABLE_COLUMNS	16u	/* maximum number of columns */

enum table_kind {
	TABLE_RIGHT,		/* aligned to the right */
	TABLE_LEFT,
	TABLE_SHORTEN,		/* aligned to the left; may be shortened */
	TABLE_TEXT,		/* free text at the end of the row; at most one column */
	TABLE_NOTE,		/* printed below the row unless empty; must be the last columns */
};

struct table_column {
	const char *heading;	/* NULL for all columns: the table has no heading line */
	enum table_kind kind;
};

/** struct table - initialise with table_begin() */
struct table {
	const struct table_column *column;
	size_t ncolumns;
	FILE *f;		/* writes to @text: the texts of all cells, each ends with NUL */
	char *text;
	size_t size, ncells;
};

/**
 * table_begin() - begin a table
 * @column: must stay valid until table_end()
 *
 * Return: 0, or 1 after a message.
 */
int table_begin(struct table *t, const struct table_column *column, size_t ncolumns);
/** table_cell() - append a cell; rows are filled from the left */
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** table_end() - print the table and free it; 0, or 1 after a message if memory is short */
int table_end(struct table *t, struct out *o);

/** text_columns() - number of characters of UTF-8 text */
size_t text_columns(const char *s);
/** out_shortened() - out_plain(); if @s has more than @width columns, "..." replaces its middle */
void out_shortened(struct out *o, const char *s, size_t width);

#endif
