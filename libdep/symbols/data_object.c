// SPDX-License-Identifier: LGPL-2.1-or-later
/* Find the variable, and the member or array element in it, at a data address. */
#include "member_path.h"

static void name_part(struct dep_image *im, struct dep_var *v, u64 vaddr, u32 size,
		      struct dep_object *out)
{
	struct dep_part part = { .offset = vaddr - v->addr };
	struct dep_text name, type;
	Dwarf_Die peeled;

	dep_text_begin(&name, out->name, sizeof(out->name));
	dep_text_add(&name, "%s", v->name ? v->name : "?");
	out->offset = part.offset;
	if (!dep_die_ref(&v->die, DW_AT_type, &part.type))
		return;
	dep_path(&im->vars, &part, size, &name);
	out->offset = part.offset;
	out->atomic = part.atomic;
	dep_text_begin(&type, out->type, sizeof(out->type));
	peeled = part.type;
	/* Show the type itself, not a typedef of it such as std::atomic_int. */
	if (part.is_std && dep_type_peel(&peeled, NULL)) {
		dep_text_add(&type, "std::");
		dep_type_name(&peeled, &type);
	} else {
		dep_type_name(&part.type, &type);
	}
}

static void name_declaration(struct dep_image *im, struct dep_var *v, struct dep_object *out)
{
	Dwarf_Attribute a;
	Dwarf_Die unit;
	u64 line;
	Dwarf_Word file;

	if (!dep_die_number(&v->die, DW_AT_decl_line, &line) ||
	    !dep_die_attr(&v->die, DW_AT_decl_file, &a) || dwarf_formudata(&a, &file) ||
	    !dwarf_cu_die(a.cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL))
		return;
	/*
	 * The file number is an index in the file table of the unit that has the declaration.
	 * This can be another unit than that of the variable.
	 */
	out->file = dep_die_file(&im->s->strings, &unit, file);
	out->line = (uint32_t)line;
}

static bool name_symbol(struct dep_image *im, u64 vaddr, struct dep_object *out)
{
	struct dep_elf_symbols *t = dep_image_symbols(im);
	u32 i = dep_spans_find(&t->data, vaddr);
	const char *name, *mangled;
	struct dep_elf_symbol sym;
	struct dep_text text;

	if (i == DEP_SPAN_NONE)
		return false;
	name = dep_symbol_name(im, i, &mangled);
	if (!name)
		return false;
	dep_text_begin(&text, out->name, sizeof(out->name));
	dep_text_add(&text, "%s", name);
	sym = dep_elf_symbol(t, i);
	out->start = sym.value;
	out->size = sym.size;
	out->offset = vaddr - out->start;
	return true;
}

bool dep_image_object(struct dep_image *im, u64 vaddr, u32 size, struct dep_object *out)
{
	struct dep_vars *vars = dep_image_vars(im);
	u32 i = dep_spans_find(&vars->data, vaddr);

	if (i == DEP_SPAN_NONE)
		return name_symbol(im, vaddr, out);
	out->start = vars->var[i].addr;
	out->size = vars->var[i].size;
	name_part(im, &vars->var[i], vaddr, size, out);
	name_declaration(im, &vars->var[i], out);
	return true;
}
