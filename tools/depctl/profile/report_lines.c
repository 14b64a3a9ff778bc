// SPDX-License-Identifier: GPL-2.0-or-later
/* Parts of the lines of depctl report. */
#include <stdio.h>

#include "tools/depctl/common/table.h"
#include "tools/depctl/depctl.h"
#include "report_parts.h"

#define NAME_WIDTH	28u

void report_put_columns(struct report *r, const char *text, size_t width)
{
	size_t n = text_columns(text);

	out_shortened(&r->out, text, width);
	if (n < width)
		out_printf(&r->out, "%*s", (int)(width - n), "");
}

void report_put_name(struct report *r, const char *name)
{
	report_put_columns(r, name, NAME_WIDTH);
}

void report_put_title(struct report *r, const char *title)
{
	out_text(&r->out, "\n");
	out_color(&r->out, COLOR_HEADING);
	report_put_columns(r, title, NAME_WIDTH + 8);
	out_color(&r->out, COLOR_END);
}

void report_put_place(struct report *r, struct site site)
{
	struct dep_place p;
	char text[NAME_TEXT];

	functions_place(r->v.f, site, &p);
	if (p.file && p.line)
		snprintf(text, sizeof(text), "%s:%u", base_name(p.file), p.line);
	else
		snprintf(text, sizeof(text), "%s", base_name(p.module));
	out_shortened(&r->out, text, 18);
	out_text(&r->out, "\n");
}
