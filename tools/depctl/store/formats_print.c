// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables of the DEP paper: sizes of the formats (its table 2), of the threads (table 3), and
 * compressed sizes, relative to BB_pc or Mem_addr before compression (figures 4 and 5).
 */
#include <math.h>
#include <stdlib.h>

#include "tools/depctl/common/table.h"
#include "formats.h"

/**
 * struct row - a format: one stream, or the sum of @stream and @also
 * @base: the format before compression that sizes are compared with; @base_name: its @name
 */
static const struct row {
	const char *title, *name, *base_name;
	enum dep_paper_format stream, also, base;
} rows[] = {
	{ "BB_pc", "bb_pc", "bb_pc", DEP_PAPER_BB_PC, DEP_PAPER_FORMATS, DEP_PAPER_BB_PC },
	{ "DEPc", "depc", "bb_pc", DEP_PAPER_DEPC, DEP_PAPER_FORMATS, DEP_PAPER_BB_PC },
	{ "CF_bit", "cf_bit", "bb_pc", DEP_PAPER_CF_BITS, DEP_PAPER_CF_TARGETS, DEP_PAPER_BB_PC },
	{ "BB_pc32", "bb_pc32", "bb_pc32", DEP_PAPER_BB_PC32, DEP_PAPER_FORMATS,
	  DEP_PAPER_BB_PC32 },
	{ "DEPc32", "depc32", "bb_pc32", DEP_PAPER_DEPC32, DEP_PAPER_FORMATS, DEP_PAPER_BB_PC32 },
	{ "Mem_addr", "mem_addr", "mem_addr", DEP_PAPER_MEM_ADDR, DEP_PAPER_FORMATS,
	  DEP_PAPER_MEM_ADDR },
	{ "DEPm", "depm", "mem_addr", DEP_PAPER_DEPM, DEP_PAPER_FORMATS, DEP_PAPER_MEM_ADDR },
	{ "regions", "regions", NULL, DEP_PAPER_REGIONS, DEP_PAPER_FORMATS, DEP_PAPER_FORMATS },
};

#define NROWS	(sizeof(rows) / sizeof(rows[0]))

static uint64_t raw_of(const struct formats *f, const struct row *r)
{
	return f->size[r->stream].bytes +
	       (r->also < DEP_PAPER_FORMATS ? f->size[r->also].bytes : 0);
}

static uint64_t packed_of(const struct formats *f, const struct row *r, uint32_t codec)
{
	return f->size[r->stream].packed[codec] +
	       (r->also < DEP_PAPER_FORMATS ? f->size[r->also].packed[codec] : 0);
}

static uint64_t grammars_of(const struct formats *f, const struct row *r)
{
	return f->size[r->stream].grammars +
	       (r->also < DEP_PAPER_FORMATS ? f->size[r->also].grammars : 0);
}

static uint64_t base_of(const struct formats *f, const struct row *r)
{
	return r->base < DEP_PAPER_FORMATS ? f->size[r->base].bytes : 0;
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : NAN;
}

struct spread {
	uint64_t least, most;
	double average;
};

static struct spread spread_of(const struct formats *f, const struct row *r)
{
	struct spread s = { .least = f->nthreads ? UINT64_MAX : 0 };
	uint64_t n, sum = 0;
	size_t i;

	for (i = 0; i < f->nthreads; i++) {
		n = f->thread[i].bytes[r->stream];
		if (r->also < DEP_PAPER_FORMATS)
			n += f->thread[i].bytes[r->also];
		s.least = n < s.least ? n : s.least;
		s.most = n > s.most ? n : s.most;
		sum += n;
	}
	s.average = f->nthreads ? (double)sum / (double)f->nthreads : 0;
	return s;
}

/* ---- text ---- */

static void number_cell(struct table *t, uint64_t n)
{
	table_cell(t, "%llu", (unsigned long long)n);
}

static void share_cell(struct table *t, double x)
{
	if (isnan(x))
		table_cell(t, "-");
	else
		table_cell(t, "%.2f%%", 100 * x);
}

static const struct table_column size_columns[] = {
	{ "format", TABLE_LEFT },
	{ "bytes", TABLE_RIGHT },
	{ "bit/ins", TABLE_RIGHT },
	{ "relative to", TABLE_LEFT },
	{ "size", TABLE_RIGHT },
	{ "sequitur", TABLE_RIGHT },
	{ "bzip2", TABLE_RIGHT },
	{ "zstd", TABLE_RIGHT },
	{ "xz", TABLE_RIGHT },
};

static const struct table_column byte_columns[] = {
	{ "format", TABLE_LEFT },
	{ "sequitur", TABLE_RIGHT },
	{ "bzip2", TABLE_RIGHT },
	{ "zstd", TABLE_RIGHT },
	{ "xz", TABLE_RIGHT },
	{ "grammars", TABLE_RIGHT },
};

static const struct table_column thread_columns[] = {
	{ "format", TABLE_LEFT },
	{ "smallest thread", TABLE_RIGHT },
	{ "largest thread", TABLE_RIGHT },
	{ "average", TABLE_RIGHT },
};

#define NSIZE	(sizeof(size_columns) / sizeof(size_columns[0]))
#define NBYTES	(sizeof(byte_columns) / sizeof(byte_columns[0]))
#define NTHREAD	(sizeof(thread_columns) / sizeof(thread_columns[0]))

static const char *title_of(enum dep_paper_format f)
{
	const struct row *r;

	for (r = rows; r < rows + NROWS; r++)
		if (r->stream == f)
			return r->title;
	return "-";
}

static int size_table(const struct formats *f, struct out *o)
{
	const struct row *r;
	struct table t;
	uint32_t i;

	if (table_begin(&t, size_columns, f->compress ? NSIZE : NSIZE - CODECS))
		return 1;
	for (r = rows; r < rows + NROWS; r++) {
		table_cell(&t, "%s", r->title);
		number_cell(&t, raw_of(f, r));
		if (f->instructions)
			table_cell(&t, "%.3f", 8 * share(raw_of(f, r), f->instructions));
		else
			table_cell(&t, "-");
		table_cell(&t, "%s", title_of(r->base));
		share_cell(&t, share(raw_of(f, r), base_of(f, r)));
		for (i = 0; i < CODECS && f->compress; i++)
			share_cell(&t, share(packed_of(f, r, i), base_of(f, r)));
	}
	return table_end(&t, o);
}

static int byte_table(const struct formats *f, struct out *o)
{
	const struct row *r;
	struct table t;
	uint32_t i;

	out_text(o, "\ncompressed bytes:\n");
	if (table_begin(&t, byte_columns, NBYTES))
		return 1;
	for (r = rows; r < rows + NROWS; r++) {
		table_cell(&t, "%s", r->title);
		for (i = 0; i < CODECS; i++)
			number_cell(&t, packed_of(f, r, i));
		number_cell(&t, grammars_of(f, r));
	}
	return table_end(&t, o);
}

static int thread_table(const struct formats *f, struct out *o)
{
	const struct row *r;
	struct spread s;
	struct table t;

	out_printf(o, "\nbytes of %zu threads:\n", f->nthreads);
	if (table_begin(&t, thread_columns, NTHREAD))
		return 1;
	/* The regions are of all threads. */
	for (r = rows; r < rows + NROWS - 1; r++) {
		s = spread_of(f, r);
		table_cell(&t, "%s", r->title);
		number_cell(&t, s.least);
		number_cell(&t, s.most);
		table_cell(&t, "%.0f", s.average);
	}
	return table_end(&t, o);
}

int formats_table(const struct formats *f, struct out *o)
{
	out_text(o, "\n");
	if (size_table(f, o) || (f->compress && byte_table(f, o)))
		return 1;
	return thread_table(f, o);
}

/* ---- CSV and JSON ---- */

static void csv_share(struct out *o, double x)
{
	if (isnan(x))
		out_text(o, ",");
	else
		out_printf(o, ",%.6f", x);
}

void formats_csv(const struct formats *f, struct out *o)
{
	const struct row *r;
	struct spread s;
	uint32_t i;

	out_text(o, "format,relative_to,bytes,bits_per_instruction,ratio,thread_min,thread_max,"
		 "thread_average");
	for (i = 0; i < CODECS && f->compress; i++)
		out_printf(o, ",%s_bytes,%s_ratio", codec_names[i], codec_names[i]);
	out_text(o, f->compress ? ",grammars\n" : "\n");
	for (r = rows; r < rows + NROWS; r++) {
		s = spread_of(f, r);
		out_printf(o, "%s,%s,%llu", r->name, r->base_name ? r->base_name : "",
			   (unsigned long long)raw_of(f, r));
		csv_share(o, 8 * share(raw_of(f, r), f->instructions));
		csv_share(o, share(raw_of(f, r), base_of(f, r)));
		out_printf(o, ",%llu,%llu,%.3f", (unsigned long long)s.least,
			   (unsigned long long)s.most, s.average);
		for (i = 0; i < CODECS && f->compress; i++) {
			out_printf(o, ",%llu", (unsigned long long)packed_of(f, r, i));
			csv_share(o, share(packed_of(f, r, i), base_of(f, r)));
		}
		if (f->compress)
			out_printf(o, ",%llu", (unsigned long long)grammars_of(f, r));
		out_text(o, "\n");
	}
}

static void row_json(const struct formats *f, struct json *j, const struct row *r)
{
	struct spread s = spread_of(f, r);
	uint32_t i;

	json_str(j, "format", r->name);
	json_str(j, "relative_to", r->base_name);
	json_u64(j, "bytes", raw_of(f, r));
	json_double(j, "bits_per_instruction", 8 * share(raw_of(f, r), f->instructions));
	json_double(j, "ratio", share(raw_of(f, r), base_of(f, r)));
	json_u64(j, "thread_min", s.least);
	json_u64(j, "thread_max", s.most);
	json_double(j, "thread_average", s.average);
	if (!f->compress)
		return;
	json_object(j, "compressed");
	for (i = 0; i < CODECS; i++) {
		json_object(j, codec_names[i]);
		json_u64(j, "bytes", packed_of(f, r, i));
		json_double(j, "ratio", share(packed_of(f, r, i), base_of(f, r)));
		if (i == CODEC_SEQUITUR)
			json_u64(j, "grammars", grammars_of(f, r));
		json_close(j, '}');
	}
	json_close(j, '}');
}

void formats_json(const struct formats *f, struct json *j)
{
	const struct row *r;

	json_array(j, "paper_formats");
	for (r = rows; r < rows + NROWS; r++) {
		json_object(j, NULL);
		row_json(f, j, r);
		json_close(j, '}');
	}
	json_close(j, ']');
}
