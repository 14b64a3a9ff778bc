// SPDX-License-Identifier: LGPL-2.1-or-later
/* The line table of a whole file: those of all compilation units, as one list of ranges. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "libdep/symbols/dwarf/die.h"
#include "internal.h"

#define PATHS		256u	/* power of 2: entries in the cache of source paths */

/* A path as libdw returned it, and as absolute path. */
struct path {
	const char *raw, *whole;
};

struct lines {
	struct dep_image *im;
	struct dep_file_line *row;
	size_t n, room;
	u64 left;		/* rows that may still be read: at most one per byte of DWARF */
	struct path path[PATHS];	/* of the current unit */
	Dwarf_Lines **table;	/* for each unit: its table, or NULL */
	Dwarf_Lines **seen;	/* hash table of the tables that were found */
	size_t seen_room;
};

static const char *path_of(struct lines *t, Dwarf_Die *unit, const char *raw)
{
	struct path *p = &t->path[((uintptr_t)raw >> 4) % PATHS];

	if (!raw || (p->raw == raw && p->whole))
		return raw ? p->whole : NULL;
	p->raw = raw;
	p->whole = dep_die_path(&t->im->s->strings, unit, raw);
	return p->whole;
}

/*
 * Only rows for code of units that have this table count.  Others are of code that the linker
 * discarded.  Or they are empty: the last row of a sequence can have the address of its end, and
 * libdw puts it behind this end, as if it began the next sequence.
 */
static u64 end_in_unit(const struct lines *t, const Dwarf_Lines *table, u64 at, u64 end,
		       bool after_end)
{
	u32 unit = dep_spans_find(&t->im->units, at);
	u64 last;

	if (unit == DEP_SPAN_NONE)
		return after_end ? at : end;
	if (t->table[unit] != table)
		return at;
	last = dep_spans_end(&t->im->units, at);
	return last < end ? last : end;
}

/* Get the row of @l, for [at, end). Return: false if it has no code or no line. */
static bool get_row(struct lines *t, Dwarf_Die *unit, Dwarf_Line *l, u64 at, u64 end,
		    struct dep_file_line *out)
{
	int n;

	if (!dep_image_is_code(t->im, at, end) || dwarf_lineno(l, &n) || n <= 0)
		return false;
	*out = (struct dep_file_line){ .start = at, .end = end, .line = (u32)n };
	if (!dwarf_linecol(l, &n) && n > 0)
		out->column = (u32)n;
	out->file = path_of(t, unit, dwarf_linesrc(l, NULL, NULL));
	return out->file;
}

static bool continues(const struct dep_file_line *a, const struct dep_file_line *b)
{
	return a->end == b->start && a->file == b->file && a->line == b->line &&
	       a->column == b->column;
}

static int add_row(struct lines *t, const struct dep_file_line *row)
{
	struct dep_file_line *p;

	if (t->n && continues(&t->row[t->n - 1], row)) {
		t->row[t->n - 1].end = row->end;
		return 0;
	}
	p = dep_grow(t->row, t->n, &t->room, sizeof(*p));
	if (!p)
		return -ENOMEM;
	t->row = p;
	p[t->n++] = *row;
	return 0;
}

/* libdw has sorted the rows by address. */
static int read_rows(struct lines *t, Dwarf_Die *unit, Dwarf_Lines *lines, size_t n)
{
	struct dep_file_line row;
	Dwarf_Addr at, end, ended = 0;
	Dwarf_Line *l;
	size_t i;
	bool last;
	int err = 0;

	memset(t->path, 0, sizeof(t->path));
	for (i = 0; i + 1 < n && !err; i++) {
		l = dwarf_onesrcline(lines, i);
		if (dwarf_lineaddr(l, &at) || dwarf_lineendsequence(l, &last) ||
		    dwarf_lineaddr(dwarf_onesrcline(lines, i + 1), &end))
			continue;
		if (last)
			ended = at;
		if (last || at >= end)
			continue;
		end = end_in_unit(t, lines, at, end, at == ended);
		if (get_row(t, unit, l, at, end, &row))
			err = add_row(t, &row);
	}
	return err;
}

/* ---- units ---- */

/* Return: true if the table of another unit is the same one. */
static bool was_seen(struct lines *t, Dwarf_Lines *lines)
{
	size_t at = XXH3_64bits(&lines, sizeof(lines)) & (t->seen_room - 1);

	for (; t->seen[at]; at = (at + 1) & (t->seen_room - 1))
		if (t->seen[at] == lines)
			return true;
	t->seen[at] = lines;
	return false;
}

/* Read the table of unit @i.  Return: the number of its rows, 0 if another unit has it, too. */
static size_t find_table(struct lines *t, u32 i)
{
	size_t n;

	if (dwarf_getsrclines(&t->im->unit[i].skeleton, &t->table[i], &n)) {
		t->table[i] = NULL;
		return 0;
	}
	if (was_seen(t, t->table[i]))
		return 0;
	if (n > t->left) {
		dep_symbols_message(t->im->s, "some lines of %s are missing: its line tables "
				    "overlap", t->im->path);
		t->left = 0;
		return 0;
	}
	t->left -= n;
	return n;
}

/* Type units share the tables of others, but do not have the compilation directory. */
static void find_tables(struct lines *t, size_t *nrows)
{
	u32 i, n = t->im->nunits;
	bool has_path;
	u32 turn;

	for (turn = 0; turn < 2; turn++)
		for (i = 0; i < n && t->left; i++) {
			has_path = dep_die_string(&t->im->unit[i].skeleton, DW_AT_comp_dir);
			if (has_path != turn)
				nrows[i] = find_table(t, i);
		}
}

static int read_units(struct lines *t)
{
	u32 n = t->im->nunits, i;
	size_t *nrows = calloc(n, sizeof(*nrows));
	int err = -ENOMEM;

	for (t->seen_room = 16; t->seen_room < 2ull * n; t->seen_room *= 2)
		;
	t->seen = calloc(t->seen_room, sizeof(*t->seen));
	t->table = calloc(n, sizeof(*t->table));
	if (!nrows || !t->seen || !t->table)
		goto out_free;
	find_tables(t, nrows);
	err = 0;
	for (i = 0; i < n && !err; i++)
		if (nrows[i])
			err = read_rows(t, &t->im->unit[i].skeleton, t->table[i], nrows[i]);

out_free:
	free(nrows);
	free(t->seen);
	free(t->table);
	return err;
}

/* Each row needs at least one byte, so more rows are possible only if tables overlap. */
static u64 most_rows(Elf *elf)
{
	GElf_Shdr sh;

	if (elf && (dep_elf_section(elf, ".debug_line", &sh) ||
		    dep_elf_section(elf, ".zdebug_line", &sh)))
		return sh.sh_size;
	return 0;
}

static int by_address(const void *pa, const void *pb)
{
	const struct dep_file_line *a = pa, *b = pb;
	int order;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	order = strcmp(a->file, b->file);
	if (order)
		return order;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return a->column < b->column ? -1 : a->column > b->column;
}

/* Functions that the linker merged have rows of several units: keep one of them. */
static size_t remove_overlap(struct dep_file_line *row, size_t n)
{
	size_t i, kept = 0;
	u64 end = 0;

	for (i = 0; i < n; i++) {
		if (row[i].end <= end)
			continue;
		row[kept] = row[i];
		if (row[kept].start < end)
			row[kept].start = end;
		end = row[kept++].end;
	}
	return kept;
}

void dep_image_lines(struct dep_image *im)
{
	struct lines t = { .im = im };

	if (im->have_lines)
		return;
	im->have_lines = true;
	dep_image_units(im);
	if (!im->nunits)
		return;
	t.left = most_rows(im->main.elf) + most_rows(im->debug.elf);
	if (read_units(&t)) {
		free(t.row);
		return;
	}
	if (t.n)
		qsort(t.row, t.n, sizeof(*t.row), by_address);
	im->line = t.row;
	im->nlines = remove_overlap(t.row, t.n);
}
