// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of figures: text has a line for each figure, JSON and CSV one row with all of them. */
#include <stdio.h>

#include "query.h"

static const struct row_column columns_text[] = {
	{ "value", "value", ROW_COUNT },
	{ "what", "figure", ROW_TEXT },
};

struct row_columns figures_columns(const struct query *q, struct row_columns all)
{
	if (q->o.form == PROFILE_TEXT)
		return ROW_COLUMNS(columns_text);
	return all;
}

static void put_line(struct rows *r, const struct row_column *column, const struct figure *f)
{
	char text[64];

	if (column->kind == ROW_TEXT)
		snprintf(text, sizeof(text), "%s", f->text);
	else if (column->kind == ROW_RATIO)
		snprintf(text, sizeof(text), "%.1f",
			 f->of ? (double)f->value / (double)f->of : 0);
	else if (column->kind == ROW_SHARE)
		snprintf(text, sizeof(text), "%.1f%%",
			 f->of ? 100 * (double)f->value / (double)f->of : 0);
	else
		snprintf(text, sizeof(text), "%llu", (unsigned long long)f->value);
	row_text(r, text);
	row_text(r, column->heading);
}

void figures_put(struct query *q, const struct row_column *columns, const struct figure *figure,
		 size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (q->o.form == PROFILE_TEXT)
			put_line(&q->rows, &columns[i], &figure[i]);
		else if (columns[i].kind == ROW_TEXT)
			row_text(&q->rows, figure[i].text);
		else if (columns[i].kind == ROW_RATIO)
			row_ratio(&q->rows, figure[i].value, figure[i].of);
		else if (columns[i].kind == ROW_SHARE)
			row_share(&q->rows, figure[i].value, figure[i].of);
		else
			row_count(&q->rows, figure[i].value);
	}
}
