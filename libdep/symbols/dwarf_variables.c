// SPDX-License-Identifier: LGPL-2.1-or-later
/* Read the variables with a fixed address, and the std::atomic types, from DWARF. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/symbols/base/demangle.h"
#include "internal.h"
#include "libdep/symbols/dwarf/types.h"

struct visit {
	struct dep_image *im;
	struct dep_walk w;
};

/* Get the address of a variable; false if it is not constant. */
static bool address_of(Dwarf_Die *die, u64 *addr)
{
	Dwarf_Attribute a, at;
	Dwarf_Addr v;
	Dwarf_Op *op;
	size_t n;

	if (!dwarf_attr(die, DW_AT_location, &a) || dwarf_getlocation(&a, &op, &n) || !n || n > 2)
		return false;
	/* An address plus offset describes a variable that the compiler merged with others. */
	if (n == 2 && op[1].atom != DW_OP_plus_uconst)
		return false;
	switch (op[0].atom) {
	case DW_OP_addr:
		*addr = op[0].number;
		break;
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		if (dwarf_getlocation_attr(&a, &op[0], &at) || dwarf_formaddr(&at, &v))
			return false;
		*addr = v;
		break;
	default:
		return false;
	}
	*addr += n == 2 ? op[1].number : 0;
	return true;
}

static const char *name_of(struct dep_image *im, Dwarf_Die *die)
{
	const char *linkage = dep_die_linkage(die), *plain;
	char *text = linkage ? dep_demangle(linkage) : NULL;

	if (text) {
		plain = dep_string(&im->s->strings, text);
		free(text);
		return plain;
	}
	plain = dep_scopes_name(&im->vars.scopes, &im->s->strings, die);
	return plain ? plain : dep_string(&im->s->strings, linkage);
}

static void take_variable(struct dep_image *im, Dwarf_Die *die, const struct dep_scope *sc)
{
	struct dep_vars *v = &im->vars;
	struct dep_var *p, var = { .die = *die };
	size_t room = v->room;
	Dwarf_Die type;

	bool has_address = address_of(die, &var.addr);

	if ((has_address || dwarf_hasattr(die, DW_AT_declaration)) && !dep_die_linkage(die))
		dep_scopes_note(&v->scopes, &im->s->strings, die, sc);
	if (!has_address)
		return;
	if (dep_die_ref(die, DW_AT_type, &type))
		var.size = dep_type_size(&type);
	if (!dep_image_is_data(im, var.addr, var.addr + (var.size ? var.size : 1)))
		return;
	p = dep_grow(v->var, v->n, &room, sizeof(*p));
	if (p)
		v->var = p;
	if (!p || v->n >= DEP_NO_INDEX - 1)
		return;
	v->room = (u32)room;
	p[v->n++] = var;
}

static void take_type(struct dep_image *im, Dwarf_Die *die, const struct dep_scope *sc)
{
	const char *name = sc->is_std ? dep_die_string(die, DW_AT_name) : NULL;
	struct dep_vars *v = &im->vars;
	const void **p;

	if (!name || (strncmp(name, "atomic<", 7) && strcmp(name, "atomic_flag") &&
		      strncmp(name, "__atomic_base<", 14) && strcmp(name, "__atomic_flag_base")))
		return;
	p = dep_grow(v->atomic, v->natomic, &v->atomic_room, sizeof(*p));
	if (!p)
		return;
	v->atomic = p;
	p[v->natomic++] = die->addr;
}

static void walk(struct visit *v, Dwarf_Die *of, const struct dep_scope *sc, int depth)
{
	struct dep_scope in;
	Dwarf_Die die;
	bool more;

	if (depth > DEP_WALK_DEPTH)
		return;
	for (more = dep_walk_first(&v->w, of, &die); more; more = dep_walk_next(&v->w, &die))
		switch (dwarf_tag(&die)) {
		case DW_TAG_variable:
			take_variable(v->im, &die, sc);
			break;
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
			take_type(v->im, &die, sc);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_subprogram:
			dep_scope_enter(&in, sc, &die);
			walk(v, &die, &in, depth + 1);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			walk(v, &die, sc, depth + 1);
			break;
		}
}

static int by_pointer(const void *pa, const void *pb)
{
	const char *a = *(const char *const *)pa, *b = *(const char *const *)pb;

	return a < b ? -1 : a > b;
}

/* Visit the units that several files share (made by dwz).  They have only types. */
static void visit_shared(struct visit *v)
{
	static const struct dep_scope top;
	Dwarf *dw = dwarf_getalt(v->im->dw);
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;

	while (dw && !dwarf_get_units(dw, cu, &cu, NULL, NULL, &die, NULL)) {
		dep_walk_begin(&v->w, &die);
		walk(v, &die, &top, 0);
	}
}

static int by_size(const void *pa, const void *pb)
{
	const struct dep_var *a = pa, *b = pb;

	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return (const char *)a->die.addr < (const char *)b->die.addr ? -1 :
	       a->die.addr != b->die.addr;
}

struct dep_vars *dep_image_vars(struct dep_image *im)
{
	static const struct dep_scope top;
	struct dep_vars *v = &im->vars;
	struct visit visit = { .im = im };
	u32 i;

	if (im->have_vars)
		return v;
	im->have_vars = true;
	dep_image_units(im);
	for (i = 0; i < im->nunits; i++) {
		dep_walk_begin(&visit.w, &im->unit[i].die);
		walk(&visit, &im->unit[i].die, &top, 0);
	}
	if (im->dw)
		visit_shared(&visit);
	if (v->natomic)
		qsort(v->atomic, v->natomic, sizeof(*v->atomic), by_pointer);
	dep_scopes_seal(&v->scopes);
	for (i = 0; i < v->n; i++)
		v->var[i].name = name_of(im, &v->var[i].die);
	/* Of several variables at one address, lookups find the one added last: the largest. */
	if (v->n)
		qsort(v->var, v->n, sizeof(*v->var), by_size);
	for (i = 0; i < v->n; i++)
		dep_spans_add(&v->data, v->var[i].addr,
			      v->var[i].addr + (v->var[i].size ? v->var[i].size : 1), i);
	dep_spans_seal(&v->data);
	return v;
}
