// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The public interface. Converts an address of a process to a file and a linked address in it, for
 * which the other files of this folder find names.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "libdep/format/file/error.h"
#include "internal.h"

int dep_symbols_open(struct dep_symbols **out, struct dep_store *store)
{
	struct dep_symbols *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (!s)
		return dep_fail(-ENOMEM, "symbols");
	s->store = store;
	if (dep_rows_build(s)) {
		free(s);
		return dep_fail(-ENOMEM, "symbols");
	}
	*out = s;
	return 0;
}

void dep_symbols_close(struct dep_symbols *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->nimages; i++)
		dep_image_free(s->image[i]);
	free(s->image);
	free(s->row);
	free(s->inst);
	free(s->note);
	dep_strings_free(&s->strings);
	free(s);
}

void dep_symbols_message(struct dep_symbols *s, const char *fmt, ...)
{
	const char **p, *kept;
	char text[8192];
	va_list ap;
	size_t i;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	kept = dep_string(&s->strings, text);
	for (i = 0; i < s->nnotes; i++)
		if (s->note[i] == kept)
			return;
	p = dep_grow(s->note, s->nnotes, &s->notes_room, sizeof(*p));
	if (!p || !kept)
		return;
	s->note = p;
	p[s->nnotes++] = kept;
}

size_t dep_symbols_messages(struct dep_symbols *s, const char *const **out)
{
	*out = s->note;
	return s->nnotes;
}

/* Set the module name and offset; memory without a file gets a name in brackets. */
static void name_module(struct dep_symbols *s, const struct dep_row *row, u64 pc,
			struct dep_place *p)
{
	p->build_id = "";
	p->offset = pc;
	if (!row) {
		p->module = "[unknown]";
		return;
	}
	if (!row->m->path[0]) {
		p->module = "[anonymous]";
		return;
	}
	p->module = dep_string(&s->strings, row->m->path);
	p->offset = pc - row->m->start + row->m->offset;
	if (!p->module)
		p->module = "[unknown]";
}

/* Set where->linked. Return: false if no segment of the file has @pc. */
static bool linked_address(struct dep_symbols *s, const struct dep_row *row, struct dep_image *im,
			   u64 pc, struct dep_place *where)
{
	struct dep_instance *in;

	if (row->m->prot & PROT_EXEC)
		return dep_image_linked(im, row->m, where->offset, &where->linked);
	dep_instances(s, row->m->process, &in);
	in = dep_instance_of(s, im, pc);
	where->linked = in ? pc - in->bias : 0;
	return in;
}

/* Set the module fields of @where. Return: the mapped file, or NULL if it cannot be read. */
static struct dep_image *find_module(struct dep_symbols *s, u32 process, u64 pc, u64 time_ns,
				     struct dep_place *where)
{
	struct dep_image *im;
	struct dep_row *row;

	*where = (struct dep_place){ 0 };
	row = dep_row_at(s, process, pc, time_ns, &where->ambiguous);
	name_module(s, row, pc, where);
	im = row ? dep_row_image(s, row) : NULL;
	if (row && row->image) {
		where->module = row->image->path;
		where->build_id = row->image->build_id;
	}
	return im && linked_address(s, row, im, pc, where) ? im : NULL;
}

size_t dep_symbols_frames(struct dep_symbols *s, uint32_t process, uint64_t pc,
			  uint64_t time_ns, struct dep_place *out, size_t max)
{
	struct dep_place where;
	struct dep_image *im = find_module(s, process, pc, time_ns, &where);
	size_t i, n = im ? dep_image_frames(im, where.linked, out, max) : 0;

	if (!n) {
		n = 1;
		if (max)
			out[0] = (struct dep_place){ 0 };
	}
	for (i = 0; i < n && i < max; i++) {
		out[i].module = where.module;
		out[i].build_id = where.build_id;
		out[i].offset = where.offset;
		out[i].linked = where.linked;
		out[i].ambiguous = where.ambiguous;
	}
	return n;
}

void dep_symbols_module(struct dep_symbols *s, uint32_t process, uint64_t pc,
			uint64_t time_ns, struct dep_place *out)
{
	find_module(s, process, pc, time_ns, out);
}

void dep_symbols_function(struct dep_symbols *s, uint32_t process, uint64_t pc,
			  uint64_t time_ns, struct dep_place *out)
{
	struct dep_image *im = find_module(s, process, pc, time_ns, out);

	if (im)
		dep_image_real_function(im, out->linked, out);
}

/* Find the mapped file that has a segment at data address @addr, preferably at @time_ns. */
static struct dep_instance *instance_at(struct dep_symbols *s, u32 process, u64 addr, u64 time_ns,
					bool *ambiguous)
{
	struct dep_instance *in, *best = NULL;
	size_t i, n = dep_instances(s, process, &in);
	bool was_then, best_then = false;

	*ambiguous = false;
	for (i = 0; i < n; i++, in++) {
		if (addr < in->lo || addr >= in->hi ||
		    !dep_image_is_data(in->image, addr - in->bias, addr - in->bias + 1))
			continue;
		was_then = time_ns && in->from_ns <= time_ns &&
			   (!in->to_ns || time_ns < in->to_ns);
		if (best && best_then && !was_then)
			continue;
		*ambiguous = best && was_then == best_then;
		if (!*ambiguous || in->from_ns >= best->from_ns)
			best = in;
		best_then = was_then;
	}
	return best;
}

int dep_symbols_object(struct dep_symbols *s, uint32_t process, uint64_t addr, uint32_t size,
		       uint64_t time_ns, struct dep_object *out)
{
	struct dep_instance *in;
	bool ambiguous;

	*out = (struct dep_object){ 0 };
	in = instance_at(s, process, addr, time_ns, &ambiguous);
	if (!in || !dep_image_object(in->image, addr - in->bias, size, out))
		return 0;
	out->start += in->bias;
	out->linked = addr - in->bias;
	out->ambiguous = ambiguous;
	out->module = in->image->path;
	out->build_id = in->image->build_id;
	return 1;
}

/* Return: index in @t->by_name of the first function whose name is not less than @name. */
static u32 first_named(const struct dep_elf_symbols *t, const char *name)
{
	u32 lo = 0, hi = t->nby_name, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (dep_symbol_order(dep_elf_symbol(t, t->by_name[mid]).name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

size_t dep_symbols_find(struct dep_symbols *s, uint32_t process, const char *name,
			uint64_t *pcs, size_t max)
{
	struct dep_elf_symbol sym;
	struct dep_elf_symbols *t;
	struct dep_instance *in;
	size_t i, n = dep_instances(s, process, &in), found = 0;
	u64 last;
	u32 k;

	for (i = 0; i < n; i++) {
		t = dep_image_by_name(in[i].image);
		/* 0: none found yet.  No function is at address 0, see dep_image_is_code(). */
		last = 0;
		for (k = first_named(t, name); k < t->nby_name; k++, last = sym.value) {
			sym = dep_elf_symbol(t, t->by_name[k]);
			if (dep_symbol_order(sym.name, name))
				break;
			if (last == sym.value)
				continue;
			if (found < max)
				pcs[found] = sym.value + in[i].bias;
			found++;
		}
	}
	return found;
}

int dep_symbols_file_code(struct dep_symbols *s, uint32_t process, uint64_t pc, uint64_t time_ns,
			  struct dep_file_code *out)
{
	struct dep_place where;
	struct dep_image *im = find_module(s, process, pc, time_ns, &where);

	*out = (struct dep_file_code){ 0 };
	if (!im)
		return -ENOENT;
	if (dep_image_code(im))
		return dep_fail(-ENOMEM, "functions of %s", im->path);
	out->path = im->path;
	out->build_id = im->build_id;
	out->bias = pc - where.linked;
	out->text = dep_image_text(im);
	out->function = im->function;
	out->nfunctions = im->nfunctions;
	return 0;
}

size_t dep_symbols_file_lines(struct dep_symbols *s, uint32_t process, uint64_t pc,
			      uint64_t time_ns, const struct dep_file_line **out)
{
	struct dep_place where;
	struct dep_image *im = find_module(s, process, pc, time_ns, &where);

	if (im)
		dep_image_lines(im);
	*out = im ? im->line : NULL;
	return im ? im->nlines : 0;
}

size_t dep_symbols_file_bytes(struct dep_symbols *s, uint32_t process, uint64_t pc,
			      uint64_t time_ns, uint64_t linked, void *out, size_t size)
{
	struct dep_place where;
	struct dep_image *im = find_module(s, process, pc, time_ns, &where);

	return im ? dep_image_bytes(im, linked, out, size) : 0;
}
