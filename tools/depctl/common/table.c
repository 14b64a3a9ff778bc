// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables that fit the terminal; see table.h. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"
#include "tools/depctl/depctl.h"

#define SHORTENED_MIN	16u	/* minimum width of a shortened cell */
#define TEXT_MIN	24u	/* free text with fewer columns than this gets a separate line */
#define TEXT_INDENT	7u

/* A table that is being printed. */
struct layout {
	const struct table *t;
	struct out *o;
	const char **cell;	/* texts of all cells, ordered by row, then column */
	size_t nrows;
	size_t width[TABLE_COLUMNS];
	size_t gap;		/* spaces between columns: 2, or 1 if the table is too wide */
};

int table_begin(struct table *t, const struct table_column *column, size_t ncolumns)
{
	*t = (struct table){ .column = column, .ncolumns = ncolumns };
	t->f = open_memstream(&t->text, &t->size);
	if (t->f)
		return 0;
	warn("out of memory");
	return EXIT_FAILURE;
}

void table_cell(struct table *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(t->f, fmt, ap);
	va_end(ap);
	fputc('\0', t->f);
	t->ncells++;
}

/* ---- text in columns ---- */

static bool is_first_byte(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

size_t text_columns(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += is_first_byte(*s);
	return n;
}

/* Find the byte at which character @n of @s begins. */
static const char *character(const char *s, size_t n)
{
	for (; *s; s++)
		if (is_first_byte(*s) && !n--)
			break;
	return s;
}

void out_shortened(struct out *o, const char *s, size_t width)
{
	size_t n = text_columns(s), tail;

	if (n <= width) {
		out_plain(o, s);
		return;
	}
	/* Keep more of the end than of the beginning: paths usually differ at their end. */
	tail = (width - 3) / 2 + (width - 3) % 2;
	out_plain_part(o, s, character(s, width - 3 - tail));
	out_text(o, "...");
	out_plain_part(o, character(s, n - tail), s + strlen(s));
}

static void put_spaces(struct out *o, size_t n)
{
	while (n--)
		out_text(o, " ");
}

/* ---- layout ---- */

static bool in_grid(const struct layout *l, size_t column)
{
	return l->t->column[column].kind < TABLE_TEXT;
}

static bool has_headings(const struct layout *l)
{
	return l->t->column[0].heading;
}

static void measure(struct layout *l)
{
	size_t i, k, n;

	for (k = 0; k < l->t->ncolumns; k++) {
		l->width[k] = has_headings(l) ? text_columns(l->t->column[k].heading) : 0;
		for (i = 0; i < l->nrows; i++) {
			n = text_columns(l->cell[i * l->t->ncolumns + k]);
			if (n > l->width[k])
				l->width[k] = n;
		}
	}
}

/* Width of a table that has the first column and columns @from to @end - 1. */
static size_t grid_width(const struct layout *l, size_t from, size_t end)
{
	size_t k, n = from ? l->width[0] : 0;

	for (k = from; k < end; k++)
		if (in_grid(l, k))
			n += l->width[k] + (k ? l->gap : 0);
	return n;
}

static void shorten_columns(struct layout *l)
{
	size_t k, n, excess;

	for (k = 0; k < l->t->ncolumns; k++) {
		n = grid_width(l, 0, l->t->ncolumns);
		if (n <= l->o->width)
			return;
		excess = n - l->o->width;
		if (l->t->column[k].kind != TABLE_SHORTEN || l->width[k] <= SHORTENED_MIN)
			continue;
		l->width[k] = l->width[k] > SHORTENED_MIN + excess ? l->width[k] - excess :
			      SHORTENED_MIN;
	}
}

/* Return the end of the columns from @from on that fit the terminal; at least @from + 1. */
static size_t group_end(const struct layout *l, size_t from)
{
	size_t end = from + 1;

	if (!l->o->width)
		return l->t->ncolumns;
	while (end < l->t->ncolumns && grid_width(l, from, end + 1) <= l->o->width)
		end++;
	return end;
}

static void put_grid_cell(struct layout *l, size_t k, const char *text, bool is_last)
{
	size_t n = text_columns(text), pad = n < l->width[k] ? l->width[k] - n : 0;

	if (l->t->column[k].kind == TABLE_RIGHT)
		put_spaces(l->o, pad);
	out_shortened(l->o, text, l->width[k]);
	if (l->t->column[k].kind != TABLE_RIGHT && !is_last)
		put_spaces(l->o, pad);
}

static void put_text_cell(struct layout *l, const char *text, size_t used)
{
	size_t width = l->o->width;

	if (!*text)
		return;
	if (!width || width >= used + 2 + TEXT_MIN || text_columns(text) + used + 2 <= width) {
		out_text(l->o, "  ");
		used += 2;
	} else {
		out_text(l->o, "\n");
		put_spaces(l->o, TEXT_INDENT);
		used = TEXT_INDENT;
	}
	out_shortened(l->o, text, width ? width - used : text_columns(text));
}

static void put_row(struct layout *l, const char *const *cell, size_t from, size_t end,
		    const char *color)
{
	size_t k, used = grid_width(l, from, end);
	bool is_last = end == l->t->ncolumns;

	if (color)
		out_color(l->o, color);
	if (from)
		put_grid_cell(l, 0, cell[0], false);
	for (k = from; k < end; k++) {
		if (!in_grid(l, k))
			continue;
		put_spaces(l->o, k ? l->gap : 0);
		put_grid_cell(l, k, cell[k], k + 1 == l->t->ncolumns);
	}
	for (k = from; k < end && is_last; k++)
		if (l->t->column[k].kind == TABLE_TEXT)
			put_text_cell(l, cell[k], used);
	if (color)
		out_color(l->o, COLOR_END);
	out_text(l->o, "\n");
	for (k = from; k < end && is_last; k++) {
		if (l->t->column[k].kind == TABLE_NOTE && *cell[k]) {
			put_spaces(l->o, TEXT_INDENT);
			out_plain_part(l->o, cell[k], cell[k] + strlen(cell[k]));
			out_text(l->o, "\n");
		}
	}
}

static void put_headings(struct layout *l, size_t from, size_t end)
{
	const char *heading[TABLE_COLUMNS];
	size_t k;

	for (k = 0; k < l->t->ncolumns; k++)
		heading[k] = l->t->column[k].kind == TABLE_NOTE ? "" : l->t->column[k].heading;
	put_row(l, heading, from, end, COLOR_HEADING);
}

static void put_table(struct layout *l)
{
	size_t i, from = 0, end;

	measure(l);
	l->gap = 2;
	if (l->o->width && grid_width(l, 0, l->t->ncolumns) > l->o->width) {
		l->gap = 1;
		shorten_columns(l);
	}
	do {
		end = group_end(l, from);
		out_text(l->o, from ? "\n" : "");
		if (has_headings(l))
			put_headings(l, from, end);
		for (i = 0; i < l->nrows; i++)
			put_row(l, l->cell + i * l->t->ncolumns, from, end, NULL);
		from = end;
	} while (from < l->t->ncolumns);
}

int table_end(struct table *t, struct out *o)
{
	struct layout l = { .t = t, .o = o };
	int err = fclose(t->f);
	const char *s = t->text;
	size_t i;

	l.cell = calloc(t->ncells + 1, sizeof(*l.cell));
	if (err || !l.cell) {
		warn("out of memory");
		free(l.cell);
		free(t->text);
		return EXIT_FAILURE;
	}
	for (i = 0; i < t->ncells; i++) {
		l.cell[i] = s;
		s += strlen(s) + 1;
	}
	l.nrows = t->ncells / t->ncolumns;
	put_table(&l);
	free(l.cell);
	free(t->text);
	return 0;
}
