// SPDX-License-Identifier: LGPL-2.1-or-later
/* Find the function, the calls inlined into it, and the source lines at a code address. */
#include <string.h>

#include "libdep/symbols/dwarf/die.h"
#include "internal.h"

struct line {
	const char *file;
	u32 line, column, discriminator;
};

static struct line line_at(struct dep_image *im, struct dep_unit *u, u64 vaddr)
{
	Dwarf_Line *l = dwarf_getsrc_die(&u->skeleton, vaddr);
	struct line at = { 0 };
	const char *raw;
	unsigned int discriminator;
	int n;

	if (!l || dwarf_lineno(l, &n) || n <= 0)
		return at;
	at.line = (u32)n;
	if (!dwarf_linecol(l, &n) && n > 0)
		at.column = (u32)n;
	if (!dwarf_linediscriminator(l, &discriminator))
		at.discriminator = discriminator;
	raw = dwarf_linesrc(l, NULL, NULL);
	if (raw != u->raw_file) {
		u->raw_file = raw;
		u->file = dep_die_path(&im->s->strings, &u->skeleton, raw);
	}
	at.file = u->file;
	return at;
}

static struct line call_of(struct dep_image *im, struct dep_unit *u, const struct dep_func *f)
{
	return (struct line){ dep_die_file(&im->s->strings, &u->die, f->call_file),
			      f->call_line, f->call_column, f->call_discriminator };
}

static struct dep_place place_at(const struct line *l, const char *name, const char *symbol)
{
	return (struct dep_place){ .function = name, .symbol = symbol, .file = l->file,
				   .line = l->line, .column = l->column,
				   .discriminator = l->discriminator };
}

/* If DWARF has no function at the address, use the ELF symbol. */
static size_t put_symbol(struct dep_image *im, u64 vaddr, const struct line *l,
			 struct dep_place *out, size_t max)
{
	const char *mangled, *name = dep_symbol_name(im, dep_image_function(im, vaddr), &mangled);

	if (max)
		out[0] = place_at(l, name, mangled);
	return 1;
}

/*
 * Take the name of a static C++ function from its ELF symbol, which has the parameters. gcc's DWARF
 * has neither a linkage name nor parameters for it.
 */
static void name_static(struct dep_image *im, u64 vaddr, struct dep_func *f)
{
	u32 sym = f->name ? dep_image_function(im, vaddr) : DEP_NO_INDEX;
	const char *mangled, *name = dep_symbol_name(im, sym, &mangled);
	size_t n = f->name ? strlen(f->name) : 0;

	if (!mangled || !name || strncmp(name, f->name, n) || name[n] != '(')
		return;
	f->name = name;
	f->symbol = mangled;
}

size_t dep_image_frames(struct dep_image *im, u64 vaddr, struct dep_place *out, size_t max)
{
	struct dep_unit *u = dep_image_unit(im, vaddr);
	struct line at = { 0 };
	struct dep_func *f;
	size_t n = 0;
	u32 i;

	if (u)
		at = line_at(im, u, vaddr);
	i = u ? dep_spans_find(&u->code, vaddr) : DEP_SPAN_NONE;
	if (i == DEP_SPAN_NONE)
		return put_symbol(im, vaddr, &at, out, max);
	/* A function's index is higher than its parent's, so this terminates. */
	for (; i != DEP_NO_INDEX; i = f->parent) {
		f = &u->func[i];
		dep_func_name(im, u, f);
		if (!f->inlined && !f->symbol)
			name_static(im, vaddr, f);
		if (n < max) {
			out[n] = place_at(&at, f->name, f->symbol);
			out[n].inlined = f->inlined;
			out[n].start_line = f->start_line;
		}
		n++;
		if (!f->inlined)
			break;
		at = call_of(im, u, f);
	}
	return n;
}

void dep_image_real_function(struct dep_image *im, u64 vaddr, struct dep_place *out)
{
	struct dep_place p[DEP_PLACES];
	u32 sym = dep_image_function(im, vaddr);
	size_t n;

	if (sym != DEP_NO_INDEX) {
		out->function = dep_symbol_name(im, sym, &out->symbol);
	} else if (!im->syms.whole) {
		n = dep_image_frames(im, vaddr, p, DEP_PLACES);
		out->function = n > DEP_PLACES ? NULL : p[n - 1].function;
		out->symbol = n > DEP_PLACES ? NULL : p[n - 1].symbol;
	}
}
