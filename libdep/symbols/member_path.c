// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdlib.h>

#include "member_path.h"

#define MAX_DEPTH	24
#define MAX_ENTRIES	65536	/* maximum number of DWARF entries that a search visits */

/* Parameters of a search; @w limits the number of DWARF entries that it visits. */
struct descent {
	const struct dep_vars *vars;
	struct dep_walk *w;
	u32 size;
};

static int by_pointer(const void *pa, const void *pb)
{
	const char *a = pa, *b = *(const char *const *)pb;

	return a < b ? -1 : a > b;
}

static bool is_listed(const struct dep_vars *v, const Dwarf_Die *type)
{
	return bsearch(type->addr, v->atomic, v->natomic, sizeof(*v->atomic), by_pointer);
}

static bool is_std_atomic(const struct dep_vars *v, Dwarf_Die *type)
{
	Dwarf_Die decl;

	if (!v->natomic)
		return false;
	/* If the type is in a type unit, only its declaration is in namespace std. */
	return is_listed(v, type) ||
	       (dep_die_ref(type, DW_AT_specification, &decl) && is_listed(v, &decl));
}

/* Get the byte offset of a member or base class in its class; false for bit fields. */
static bool place_of(Dwarf_Die *member, u64 *at)
{
	Dwarf_Attribute a;
	Dwarf_Word v;
	Dwarf_Op *op;
	size_t n;

	*at = 0;
	if (dwarf_hasattr(member, DW_AT_data_bit_offset) || dwarf_hasattr(member, DW_AT_bit_size))
		return false;
	/* A member without a location is at offset 0, as in a union. */
	if (!dwarf_attr(member, DW_AT_data_member_location, &a))
		return !dwarf_hasattr(member, DW_AT_external) &&
		       !dwarf_hasattr(member, DW_AT_declaration);
	if (!dwarf_formudata(&a, &v)) {
		*at = v;
		return true;
	}
	if (dwarf_getlocation(&a, &op, &n) || n != 1 || op[0].atom != DW_OP_plus_uconst)
		return false;
	*at = op[0].number;
	return true;
}

static void go_down(const struct descent *d, struct dep_part *part, struct dep_text *to,
		    int depth);

/* Descend into @member if it contains all bytes accessed. */
static bool enter(const struct descent *d, Dwarf_Die *member, struct dep_part *part,
		  struct dep_text *to, int depth)
{
	const char *name = dep_die_string(member, DW_AT_name);
	struct dep_part in = *part;
	u64 at, size;

	if (!place_of(member, &at) || at > part->offset ||
	    !dep_die_ref(member, DW_AT_type, &in.type))
		return false;
	in.offset -= at;
	size = dep_type_size(&in.type);
	if (in.offset >= size || d->size > size - in.offset)
		return false;
	/* Base classes and unnamed members add nothing to the path. */
	if (name && dwarf_tag(member) == DW_TAG_member)
		dep_text_add(to, ".%s", name);
	go_down(d, &in, to, depth + 1);
	*part = in;
	return true;
}

/* Descend into a member.  In a union, prefer a member that is a scalar of the accessed size. */
static void into_members(const struct descent *d, Dwarf_Die *type, struct dep_part *part,
			 struct dep_text *to, int depth)
{
	struct dep_part best = *part, in;
	char buf[256], kept[256] = "";
	struct dep_text t;
	bool found = false, more;
	Dwarf_Die m;
	int tag;

	for (more = dep_walk_first(d->w, type, &m); more; more = dep_walk_next(d->w, &m)) {
		tag = dwarf_tag(&m);
		if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
			continue;
		in = *part;
		dep_text_begin(&t, buf, sizeof(buf));
		if (!enter(d, &m, &in, &t, depth) || (found && !(in.exact && !best.exact)))
			continue;
		found = true;
		best = in;
		dep_text_begin(&t, kept, sizeof(kept));
		dep_text_add(&t, "%s", buf);
		if (best.exact)
			break;
	}
	*part = best;
	dep_text_add(to, "%s", kept);
}

static void into_array(const struct descent *d, Dwarf_Die *type, struct dep_part *part,
		       struct dep_text *to, int depth)
{
	struct dep_array a;
	u64 index, below;
	u32 i, k;

	if (!dep_type_array(type, &a))
		return;
	index = part->offset / a.stride;
	for (i = 0; i < a.n; i++) {
		for (k = i + 1, below = 1; k < a.n; k++)
			if (__builtin_mul_overflow(below, a.count[k], &below) || !below)
				return;
		dep_text_add(to, "[%llu]", (unsigned long long)(index / below));
		index %= below;
	}
	part->offset %= a.stride;
	part->type = a.element;
	go_down(d, part, to, depth + 1);
}

static void go_down(const struct descent *d, struct dep_part *part, struct dep_text *to,
		    int depth)
{
	Dwarf_Die type = part->type;

	part->exact = false;
	if (depth > MAX_DEPTH || !dep_type_peel(&type, &part->atomic))
		return;
	switch (dwarf_tag(&type)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
		if (is_std_atomic(d->vars, &type)) {
			part->atomic = true;
			part->is_std = true;
			part->exact = !part->offset && d->size == dep_type_size(&type);
			break;
		}
		/* fall through */
	case DW_TAG_union_type:
		into_members(d, &type, part, to, depth);
		break;
	case DW_TAG_array_type:
		into_array(d, &type, part, to, depth);
		break;
	default:
		part->exact = !part->offset && d->size == dep_type_size(&type);
		break;
	}
}

void dep_path(const struct dep_vars *vars, struct dep_part *part, u32 size, struct dep_text *to)
{
	struct dep_walk w = { MAX_ENTRIES };
	struct descent d = { vars, &w, size };

	go_down(&d, part, to, 0);
}
