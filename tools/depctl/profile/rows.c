// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of a query, as text, JSON or CSV. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "query.h"

/* Columns of a site in CSV, after the column's key. */
static const char *const site_columns[] = {
	"module", "build_id", "module_offset", "linked_address", "function", "file", "line",
};

#define NSITE (sizeof(site_columns) / sizeof(site_columns[0]))

#define INTERVAL_KEY	"interval_ns"

static void csv_headings(struct rows *r)
{
	size_t i, k;

	if (r->v->o->per_ns)
		out_text(r->out, INTERVAL_KEY ",");
	for (i = 0; i < r->ncolumns; i++) {
		if (r->column[i].kind != ROW_SITE) {
			out_printf(r->out, "%s%s", i ? "," : "", r->column[i].key);
			continue;
		}
		for (k = 0; k < NSITE; k++)
			out_printf(r->out, "%s%s_%s", i + k ? "," : "", r->column[i].key,
				   site_columns[k]);
	}
	out_text(r->out, "\n");
}

static int text_headings(struct rows *r)
{
	struct table_column *to = r->table_column;
	enum row_kind kind;
	size_t i;

	if (r->v->o->per_ns)
		*to++ = (struct table_column){ "time", TABLE_RIGHT };
	for (i = 0; i < r->ncolumns; i++, to++) {
		kind = r->column[i].kind;
		to->heading = r->column[i].heading;
		to->kind = i + 1 == r->ncolumns ? TABLE_TEXT : kind == ROW_SITE ? TABLE_SHORTEN :
			   kind == ROW_TEXT ? TABLE_LEFT : TABLE_RIGHT;
	}
	return table_begin(&r->table, r->table_column, (size_t)(to - r->table_column));
}

int rows_begin(struct rows *r, const struct profile_view *v, struct out *out,
	       const struct row_column *column, size_t ncolumns)
{
	*r = (struct rows){ .v = v, .form = v->o->form, .column = column, .ncolumns = ncolumns,
			    .out = out };
	json_begin(&r->j, out);
	if (r->form == PROFILE_TEXT)
		return text_headings(r);
	if (r->form == PROFILE_CSV)
		csv_headings(r);
	return 0;
}

int rows_end(struct rows *r)
{
	return r->form == PROFILE_TEXT ? table_end(&r->table, r->out) : 0;
}

/* Write the beginning of the interval; as text, in a unit that shows it exactly. */
static void put_interval(struct rows *r)
{
	uint64_t per = r->v->o->per_ns, unit = per % 1000000000 == 0 ? 1000000000 :
					       per % 1000000 == 0 ? 1000000 : 1000;

	if (r->form == PROFILE_JSON)
		json_u64(&r->j, INTERVAL_KEY, r->interval_ns);
	else if (r->form == PROFILE_CSV)
		out_printf(r->out, "%llu,", (unsigned long long)r->interval_ns);
	else
		table_cell(&r->table, "%llu%s", (unsigned long long)(r->interval_ns / unit),
			   unit == 1000 ? "us" : unit == 1000000 ? "ms" : "s");
}

static const char *begin_cell(struct rows *r)
{
	if (r->form == PROFILE_JSON && !r->at)
		json_object(&r->j, NULL);
	if (!r->at && r->v->o->per_ns)
		put_interval(r);
	if (r->form == PROFILE_CSV && r->at)
		out_text(r->out, ",");
	return r->column[r->at].key;
}

static void end_cell(struct rows *r)
{
	if (++r->at < r->ncolumns)
		return;
	r->at = 0;
	if (r->form == PROFILE_JSON) {
		json_close(&r->j, '}');
		json_line(&r->j);
	} else if (r->form == PROFILE_CSV) {
		out_text(r->out, "\n");
	}
}

void row_count(struct rows *r, uint64_t n)
{
	const char *key = begin_cell(r);

	if (r->form == PROFILE_JSON)
		json_u64(&r->j, key, n);
	else if (r->form == PROFILE_CSV)
		out_printf(r->out, "%llu", (unsigned long long)n);
	else
		table_cell(&r->table, "%llu", (unsigned long long)n);
	end_cell(r);
}

static void put_double(struct rows *r, double d, const char *text)
{
	const char *key = begin_cell(r);

	if (r->form == PROFILE_JSON)
		json_double(&r->j, key, d);
	else if (r->form == PROFILE_CSV)
		out_printf(r->out, "%.6g", d);
	else
		table_cell(&r->table, "%s", text);
	end_cell(r);
}

void row_share(struct rows *r, uint64_t part, uint64_t whole)
{
	double share = whole ? (double)part / (double)whole : 0;
	char text[32];

	snprintf(text, sizeof(text), "%.1f%%", 100 * share);
	put_double(r, share, text);
}

void row_ratio(struct rows *r, uint64_t a, uint64_t b)
{
	double ratio = b ? (double)a / (double)b : 0;
	char text[32] = "";

	if (b)
		snprintf(text, sizeof(text), ratio < 99.95 ? "%.1f" : "%.0f", ratio);
	put_double(r, ratio, text);
}

/* Quote a field of CSV if needed (RFC 4180). */
static void csv_text(struct out *o, const char *s)
{
	const char *end;

	if (!s)
		return;
	if (!strpbrk(s, ",\"\n\r")) {
		out_plain(o, s);
		return;
	}
	out_text(o, "\"");
	while ((end = strchr(s, '"'))) {
		out_plain_part(o, s, end);
		out_text(o, "\"\"");
		s = end + 1;
	}
	out_plain(o, s);
	out_text(o, "\"");
}

void row_text(struct rows *r, const char *text)
{
	const char *key = begin_cell(r);

	if (r->form == PROFILE_JSON)
		json_str(&r->j, key, text);
	else if (r->form == PROFILE_CSV)
		csv_text(r->out, text);
	else
		table_cell(&r->table, "%s", text ? text : "");
	end_cell(r);
}

void json_site(struct json *j, const char *key, const struct profile_view *v, struct site site)
{
	struct dep_place p;

	if (site.unit == NO_FUNCTION) {
		json_str(j, key, NULL);
		return;
	}
	functions_place(v->f, site, &p);
	json_object(j, key);
	json_str(j, "module", p.module);
	json_str(j, "build_id", p.build_id);
	json_hex(j, "module_offset", p.offset);
	json_hex(j, "linked_address", p.linked);
	json_str(j, "function", p.function);
	json_str(j, "file", p.file);
	json_u64(j, "line", p.line);
	json_close(j, '}');
}

static void csv_site(struct rows *r, struct site site)
{
	struct dep_place p;

	if (site.unit == NO_FUNCTION) {
		out_text(r->out, ",,,,,,");
		return;
	}
	functions_place(r->v->f, site, &p);
	csv_text(r->out, p.module);
	out_text(r->out, ",");
	csv_text(r->out, p.build_id);
	out_printf(r->out, ",0x%llx,0x%llx,", (unsigned long long)p.offset,
		   (unsigned long long)p.linked);
	csv_text(r->out, p.function);
	out_text(r->out, ",");
	csv_text(r->out, p.file);
	out_printf(r->out, ",%u", p.line);
}

/* Write @site, in text forms as @text. */
static void put_site(struct rows *r, struct site site, const char *text)
{
	const char *key = begin_cell(r);

	if (r->form == PROFILE_TEXT)
		table_cell(&r->table, "%s", text);
	else if (r->form == PROFILE_JSON)
		json_site(&r->j, key, r->v, site);
	else
		csv_site(r, site);
	end_cell(r);
}

void row_site(struct rows *r, struct site site)
{
	char text[NAME_TEXT] = "";

	if (r->form == PROFILE_TEXT)
		name_site(r->v, site, text);
	put_site(r, site, text);
}

void row_function(struct rows *r, uint32_t function, struct site site, unsigned int indent)
{
	char text[NAME_TEXT + 128] = "", name[NAME_TEXT];

	if (r->form == PROFILE_TEXT) {
		name_site(r->v, function == NO_FUNCTION ? site : functions_start(r->v->f, function),
			  name);
		snprintf(text, sizeof(text), "%*s%s", (int)(indent < 128 ? indent : 127), "", name);
	}
	put_site(r, site, text);
}
