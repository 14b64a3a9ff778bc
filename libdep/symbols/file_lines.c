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
	Dwarf_Lines **seen;	/* hash table of the tables that were read */
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

/* Get the row of @l, which ends at @end. Return: false if it has no code or no line. */
static bool get_row(struct lines *t, Dwarf_Die *unit, Dwarf_Line *l, u64 end,
		    struct dep_file_line *out)
{
	Dwarf_Addr at;
	bool last;
	int n;

	*out = (struct dep_file_line){ .end = end };
	if (dwarf_lineaddr(l, &at) || dwarf_lineendsequence(l, &last) || last ||
	    dwarf_lineno(l, &n) || n <= 0 || !dep_image_is_code(t->im, at, end))
		return false;
	out->start = at;
	out->line = (u32)n;
	if (!dwarf_linecol(l, &n) && n > 0)
		out->column = (u32)n;
	out->file = path_of(t, unit, dwarf_linesrc(l, NULL, NULL));
	return true;
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
	Dwarf_Addr end;
	size_t i;
	int err = 0;

	memset(t->path, 0, sizeof(t->path));
	for (i = 0; i + 1 < n && !err; i++)
		if (!dwarf_lineaddr(dwarf_onesrcline(lines, i + 1), &end) &&
		    get_row(t, unit, dwarf_onesrcline(lines, i), end, &row))
			err = add_row(t, &row);
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

static int read_units(struct lines *t)
{
	struct dep_image *im = t->im;
	Dwarf_Lines *lines;
	Dwarf_Die *unit;
	size_t n;
	int err = 0;
	u32 i;

	for (t->seen_room = 16; t->seen_room < 2ull * im->nunits; t->seen_room *= 2)
		;
	t->seen = calloc(t->seen_room, sizeof(*t->seen));
	if (!t->seen)
		return -ENOMEM;
	for (i = 0; i < im->nunits && !err; i++) {
		unit = &im->unit[i].skeleton;
		if (dwarf_getsrclines(unit, &lines, &n) || was_seen(t, lines))
			continue;
		if (n > t->left) {
			dep_symbols_message(im->s, "some lines of %s are missing: its line tables "
					    "overlap", im->path);
			break;
		}
		t->left -= n;
		err = read_rows(t, unit, lines, n);
	}
	free(t->seen);
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
	order = a->file && b->file ? strcmp(a->file, b->file) : !a->file - !b->file;
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
