// SPDX-License-Identifier: LGPL-2.1-or-later
/* Read the functions of a compilation unit, and the calls inlined into them, from DWARF. */
#include <stdlib.h>

#include "libdep/symbols/base/demangle.h"
#include "internal.h"

#define DW_AT_GNU_discriminator	0x2136	/* libdw's header does not have it */

static u32 add_func(struct dep_unit *u, Dwarf_Die *die, u32 parent, bool inlined)
{
	size_t room = u->room;
	struct dep_func *f;
	u64 v;

	if (u->nfuncs >= DEP_NO_INDEX - 1)
		return DEP_NO_INDEX;
	f = dep_grow(u->func, u->nfuncs, &room, sizeof(*f));
	if (!f)
		return DEP_NO_INDEX;
	u->func = f;
	u->room = (u32)room;
	f += u->nfuncs;
	*f = (struct dep_func){ .die = *die, .parent = parent, .inlined = inlined };
	if (dep_die_number(die, DW_AT_decl_line, &v))
		f->start_line = (u32)v;
	if (inlined) {
		if (dep_die_number(die, DW_AT_call_file, &v))
			f->call_file = (u32)v;
		if (dep_die_number(die, DW_AT_call_line, &v))
			f->call_line = (u32)v;
		if (dep_die_number(die, DW_AT_call_column, &v))
			f->call_column = (u32)v;
		if (dep_die_number(die, DW_AT_GNU_discriminator, &v))
			f->call_discriminator = (u32)v;
	}
	return u->nfuncs++;
}

struct visit {
	struct dep_image *im;
	struct dep_unit *u;
	struct dep_walk w;
};

static void walk(struct visit *v, Dwarf_Die *of, const struct dep_scope *sc, u32 parent,
		 int depth);

/* Add a function that has code, or an inlined call; @parent: index of the enclosing function. */
static void take(struct visit *v, Dwarf_Die *die, const struct dep_scope *sc, u32 parent,
		 int depth, bool inlined)
{
	u32 f = add_func(v->u, die, inlined ? parent : DEP_NO_INDEX, inlined);

	if (f == DEP_NO_INDEX)
		return;
	if (!dep_die_spans(v->im, die, &v->u->code, f)) {
		/*
		 * The entry has no code: the linker has discarded it, or it is the abstract
		 * description of an inlined function.
		 */
		v->u->nfuncs--;
		if (inlined)
			return;
		f = DEP_NO_INDEX;
	}
	walk(v, die, sc, f, depth + 1);
}

static void walk(struct visit *v, Dwarf_Die *of, const struct dep_scope *sc, u32 parent,
		 int depth)
{
	struct dep_scope in;
	Dwarf_Die die;
	bool more;

	if (depth > DEP_WALK_DEPTH)
		return;
	for (more = dep_walk_first(&v->w, of, &die); more; more = dep_walk_next(&v->w, &die))
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			if (!dep_die_linkage(&die))
				dep_scopes_note(&v->u->scopes, &v->im->s->strings, &die, sc);
			dep_scope_enter(&in, sc, &die);
			take(v, &die, &in, parent, depth, false);
			break;
		case DW_TAG_inlined_subroutine:
			if (parent != DEP_NO_INDEX)
				take(v, &die, sc, parent, depth, true);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
		case DW_TAG_with_stmt:
			walk(v, &die, sc, parent, depth + 1);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
		case DW_TAG_enumeration_type:
			dep_scope_enter(&in, sc, &die);
			walk(v, &die, &in, DEP_NO_INDEX, depth + 1);
			break;
		}
}

void dep_unit_build(struct dep_image *im, struct dep_unit *u)
{
	static const struct dep_scope top;
	struct visit v = { .im = im, .u = u };

	u->built = true;
	dep_walk_begin(&v.w, &u->die);
	walk(&v, &u->die, &top, DEP_NO_INDEX, 0);
	dep_spans_seal(&u->code);
	dep_scopes_seal(&u->scopes);
}

void dep_func_name(struct dep_image *im, struct dep_unit *u, struct dep_func *f)
{
	const char *plain, *linkage;
	char *text;

	if (f->named)
		return;
	f->named = true;
	plain = dep_scopes_name(&u->scopes, &im->s->strings, &f->die);
	linkage = dep_die_linkage(&f->die);
	text = linkage ? dep_demangle(linkage) : NULL;
	if (text) {
		f->name = dep_string(&im->s->strings, text);
		f->symbol = dep_string(&im->s->strings, linkage);
		free(text);
	} else if (linkage && (!plain || (linkage[0] == '_' && linkage[1] == 'Z'))) {
		f->name = dep_string(&im->s->strings, linkage);
	} else {
		f->name = plain;
		f->symbol = dep_string(&im->s->strings, linkage);
	}
}
