// SPDX-License-Identifier: GPL-2.0-or-later
/* Write the assembly of the page, with the source line of each instruction. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/common/disassembler.h"
#include "model.h"
#include "source.h"

/** struct line - source position of an instruction; @file UINT32_MAX: not known */
struct line {
	uint32_t file, line;
};

static void put_insn(const struct page_input *in, const struct disassembler *d,
		     const struct page_insn *x, struct json *j)
{
	const struct dep_insn_count *row = &in->profile->insn[x->row];
	char text[DISASSEMBLER_TEXT];
	uint8_t bytes[15];
	size_t n = dep_insn_bytes(in->store, row->fragment, row->pc, bytes);

	disassemble(d, x->address, bytes, n, text);
	json_str(j, NULL, text);
}

static int find_lines(const struct page_input *in, const struct page_code *c,
		      struct source_files *s, struct line *line)
{
	struct dep_place place;
	size_t i;

	for (i = 0; i < c->n; i++) {
		const struct dep_insn_count *row = &in->profile->insn[c->insn[i].row];

		line[i] = (struct line){ .file = UINT32_MAX };
		dep_symbols_frames(in->symbols, row->process, row->pc,
				   in->code->fragment[row->fragment].time_ns, &place, 1);
		if (!place.file || !place.line)
			continue;
		line[i] = (struct line){ .file = source_file(s, place.file), .line = place.line };
		if (line[i].file == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->file != y->file)
		return x->file > y->file ? 1 : -1;
	return (x->line > y->line) - (x->line < y->line);
}

/* Lines of a function that are further apart than this are shown as two ranges. */
#define LINES_APART	40u

/* Want the lines of the instructions of one function. */
static int want_lines(struct source_files *s, const struct line *line, size_t n)
{
	struct line *sorted = malloc((n + 1) * sizeof(*sorted));
	size_t i, first = 0;
	int ret = 0;

	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, line, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_place);
	for (i = 1; i <= n && !ret; i++) {
		if (i < n && sorted[i].file == sorted[first].file &&
		    sorted[i].line - sorted[i - 1].line <= LINES_APART)
			continue;
		if (sorted[first].file != UINT32_MAX)
			ret = source_want(s, sorted[first].file, sorted[first].line,
					  sorted[i - 1].line);
		first = i;
	}
	free(sorted);
	return ret;
}

static void write_function(const struct page_input *in, const struct disassembler *d,
			   struct json *j, const struct page_insn *x, const struct line *line,
			   size_t n, uint32_t number)
{
	size_t i;

	json_object(j, NULL);
	json_u64(j, "function", number);
	json_array(j, "at");
	for (i = 0; i < n; i++)
		json_hex(j, NULL, x[i].address);
	json_close(j, ']');
	json_array(j, "count");
	for (i = 0; i < n; i++)
		json_u64(j, NULL, x[i].count);
	json_close(j, ']');
	json_array(j, "file");
	for (i = 0; i < n; i++)
		json_i64(j, NULL, line[i].file == UINT32_MAX ? -1 : (int64_t)line[i].file);
	json_close(j, ']');
	json_array(j, "line");
	for (i = 0; i < n; i++)
		json_u64(j, NULL, line[i].line);
	json_close(j, ']');
	json_array(j, "text");
	for (i = 0; i < n; i++)
		put_insn(in, d, &x[i], j);
	json_close(j, ']');
	json_close(j, '}');
}

static int write_functions(const struct page_input *in, const struct page_code *c,
			   const struct page_functions *f, struct source_files *s,
			   const struct line *line, struct json *j)
{
	struct disassembler d;
	size_t i, k;
	int ret = 0;

	if (!disassembler_begin(&d))
		return -ENOSYS;
	json_array(j, "code");
	for (i = 0; i < c->n && !ret; i = k) {
		for (k = i; k < c->n && c->insn[k].function == c->insn[i].function; k++)
			;
		if (f->number[c->insn[i].function] == NO_FUNCTION)
			continue;
		ret = want_lines(s, line + i, k - i);
		write_function(in, &d, j, c->insn + i, line + i, k - i,
			       f->number[c->insn[i].function]);
	}
	json_close(j, ']');
	return ret;
}

int page_code_write(const struct page_input *in, const struct page_code *c,
		    const struct page_functions *f, struct json *j)
{
	uint64_t start = dep_store_meta(in->store)->start_realtime_ns;
	const struct timespec recorded = { .tv_sec = (time_t)(start / 1000000000),
					   .tv_nsec = (long)(start % 1000000000) };
	struct line *line = calloc(c->n + 1, sizeof(*line));
	struct source_files s = { };
	int ret = line ? find_lines(in, c, &s, line) : -ENOMEM;

	if (!ret)
		ret = write_functions(in, c, f, &s, line, j);
	if (!ret)
		ret = source_write(&s, in->source, &recorded, j);
	source_free(&s);
	free(line);
	return ret;
}
