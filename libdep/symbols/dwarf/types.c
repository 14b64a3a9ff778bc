// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "types.h"

#define MAX_QUALIFIERS	32
#define MAX_NESTING	32

/* DW_LANG_* constants that older headers lack. */
#define LANG_C17	0x2c
#define LANG_C23	0x3e

void dep_text_begin(struct dep_text *t, char *buf, size_t size)
{
	*t = (struct dep_text){ buf, size, 0, false };
	buf[0] = 0;
}

void dep_text_add(struct dep_text *t, const char *fmt, ...)
{
	size_t room = t->size - t->n, i;
	va_list ap;
	int n;

	if (t->cut)
		return;
	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->n, room, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	t->cut = (size_t)n >= room;
	if (t->cut)
		strcpy(t->buf + t->size - 4, "...");
	for (i = t->n; t->buf[i]; i++)
		if ((unsigned char)t->buf[i] < ' ' || t->buf[i] == 0x7f)
			t->buf[i] = '?';
	t->n = i;
}

static bool is_qualifier(int tag)
{
	switch (tag) {
	case DW_TAG_typedef:
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
	case DW_TAG_immutable_type:
	case DW_TAG_packed_type:
	case DW_TAG_shared_type:
		return true;
	default:
		return false;
	}
}

bool dep_type_peel(Dwarf_Die *type, bool *atomic)
{
	Dwarf_Die next;
	int i, tag;

	for (i = 0; i < MAX_QUALIFIERS; i++) {
		tag = dwarf_tag(type);
		if (!is_qualifier(tag)) {
			/* A declaration can refer to its definition in a type unit. */
			if (!dwarf_hasattr(type, DW_AT_signature) ||
			    !dep_die_ref(type, DW_AT_signature, &next))
				return true;
		} else {
			if (tag == DW_TAG_atomic_type && atomic)
				*atomic = true;
			if (!dep_die_ref(type, DW_AT_type, &next))
				return false;
		}
		*type = next;
	}
	return false;
}

static u64 size_of(Dwarf_Die *type, int depth);

/*
 * Read an array bound.  It is signed only in some DWARF forms: compilers write small positive
 * numbers in unsigned forms.
 */
static bool bound_of(Dwarf_Die *dimension, unsigned int name, s64 *out)
{
	Dwarf_Attribute a;
	Dwarf_Sword with_sign;
	Dwarf_Word v;

	if (!dep_die_attr(dimension, name, &a))
		return false;
	if (dwarf_whatform(&a) == DW_FORM_sdata || dwarf_whatform(&a) == DW_FORM_implicit_const) {
		if (dwarf_formsdata(&a, &with_sign))
			return false;
		*out = with_sign;
		return true;
	}
	if (dwarf_formudata(&a, &v))
		return false;
	*out = (s64)v;
	return true;
}

/* Return: the number of elements in a dimension of an array; 0: unknown. */
static u64 count_of(Dwarf_Die *dimension)
{
	s64 low, high;
	u64 n;

	if (dep_die_number(dimension, DW_AT_count, &n))
		return n;
	if (!bound_of(dimension, DW_AT_lower_bound, &low))
		low = 0;
	/* The upper bound is -1 for a C array without length. */
	if (!bound_of(dimension, DW_AT_upper_bound, &high) || high < low)
		return 0;
	return (u64)high - (u64)low + 1;
}

static bool array_of(Dwarf_Die *type, struct dep_array *a, int depth)
{
	struct dep_walk w = { 4 * DEP_DIMENSIONS };
	Dwarf_Die d;
	bool more;
	int tag;

	memset(a, 0, sizeof(*a));
	if (!dep_die_ref(type, DW_AT_type, &a->element))
		return false;
	for (more = dep_walk_first(&w, type, &d); more; more = dep_walk_next(&w, &d)) {
		tag = dwarf_tag(&d);
		if (tag != DW_TAG_subrange_type && tag != DW_TAG_enumeration_type)
			continue;
		if (a->n == DEP_DIMENSIONS)
			return false;
		a->count[a->n] = count_of(&d);
		if (a->n && !a->count[a->n])
			return false;
		a->n++;
	}
	if (!dep_die_number(type, DW_AT_byte_stride, &a->stride))
		a->stride = size_of(&a->element, depth + 1);
	return a->n && a->stride;
}

bool dep_type_array(Dwarf_Die *type, struct dep_array *a)
{
	return array_of(type, a, 0);
}

static u64 size_of(Dwarf_Die *type, int depth)
{
	struct dep_array a;
	Dwarf_Die t = *type;
	u64 size;
	u32 i;

	if (depth > MAX_NESTING || !dep_type_peel(&t, NULL))
		return 0;
	if (dep_die_number(&t, DW_AT_byte_size, &size))
		return size;
	switch (dwarf_tag(&t)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return 8;
	case DW_TAG_array_type:
		if (!array_of(&t, &a, depth))
			return 0;
		for (i = 0, size = a.stride; i < a.n; i++)
			if (__builtin_mul_overflow(size, a.count[i], &size))
				return 0;
		return size;
	case DW_TAG_enumeration_type:
	case DW_TAG_subrange_type:
		return dep_die_ref(&t, DW_AT_type, &t) ? size_of(&t, depth + 1) : 0;
	default:
		return 0;
	}
}

u64 dep_type_size(Dwarf_Die *type)
{
	return size_of(type, 0);
}

static void put_tagged(Dwarf_Die *type, struct dep_text *to, const char *tag)
{
	const char *name = dep_die_string(type, DW_AT_name);
	Dwarf_CU *cu = type->cu;
	Dwarf_Die unit;
	u64 lang = 0;

	/* C types have tags ("struct node"); other languages use the name alone. */
	if (dwarf_cu_die(cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL))
		dep_die_number(&unit, DW_AT_language, &lang);
	switch (lang) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case LANG_C17:
	case LANG_C23:
		dep_text_add(to, name ? "%s " : "%s", tag);
		break;
	default:
		if (!name)
			dep_text_add(to, "%s", tag);
		break;
	}
	if (name)
		dep_text_add(to, "%s", name);
}

static void put_name(Dwarf_Die *type, struct dep_text *to, int depth);

/* Append the name of the type that @type refers to; C's void has no DWARF entry. */
static void put_target(Dwarf_Die *type, struct dep_text *to, int depth)
{
	Dwarf_Die target;

	if (dep_die_ref(type, DW_AT_type, &target))
		put_name(&target, to, depth + 1);
	else
		dep_text_add(to, "void");
}

static void put_qualified(Dwarf_Die *type, struct dep_text *to, int depth, const char *word)
{
	Dwarf_Die target;

	/* A qualifier of a pointer follows the asterisk. */
	if (dep_die_ref(type, DW_AT_type, &target) && dep_type_peel(&target, NULL) &&
	    dwarf_tag(&target) == DW_TAG_pointer_type) {
		put_target(type, to, depth);
		dep_text_add(to, to->n && to->buf[to->n - 1] == '*' ? "%s" : " %s", word);
		return;
	}
	dep_text_add(to, "%s ", word);
	put_target(type, to, depth);
}

static void put_array(Dwarf_Die *type, struct dep_text *to, int depth)
{
	struct dep_array a;
	u32 i;

	put_target(type, to, depth);
	if (!array_of(type, &a, depth))
		dep_text_add(to, "[]");
	for (i = 0; i < a.n; i++) {
		if (a.count[i])
			dep_text_add(to, "[%llu]", (unsigned long long)a.count[i]);
		else
			dep_text_add(to, "[]");
	}
}

static void put_pointer(Dwarf_Die *type, struct dep_text *to, int depth, const char *mark)
{
	Dwarf_Die target;
	int tag = dep_die_ref(type, DW_AT_type, &target) ? dwarf_tag(&target) : 0;

	if (tag == DW_TAG_subroutine_type) {
		put_target(&target, to, depth + 1);
		dep_text_add(to, " (%s)()", mark);
		return;
	}
	put_target(type, to, depth);
	dep_text_add(to, tag == DW_TAG_pointer_type ? "%s" : " %s", mark);
}

static void put_name(Dwarf_Die *type, struct dep_text *to, int depth)
{
	const char *name;

	if (depth > MAX_NESTING || to->cut) {
		dep_text_add(to, "...");
		return;
	}
	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
		put_pointer(type, to, depth, "*");
		break;
	case DW_TAG_reference_type:
		put_pointer(type, to, depth, "&");
		break;
	case DW_TAG_rvalue_reference_type:
		put_pointer(type, to, depth, "&&");
		break;
	case DW_TAG_const_type:
		put_qualified(type, to, depth, "const");
		break;
	case DW_TAG_volatile_type:
		put_qualified(type, to, depth, "volatile");
		break;
	case DW_TAG_atomic_type:
		put_qualified(type, to, depth, "_Atomic");
		break;
	case DW_TAG_restrict_type:
		put_qualified(type, to, depth, "restrict");
		break;
	case DW_TAG_array_type:
		put_array(type, to, depth);
		break;
	case DW_TAG_structure_type:
		put_tagged(type, to, "struct");
		break;
	case DW_TAG_class_type:
		put_tagged(type, to, "class");
		break;
	case DW_TAG_union_type:
		put_tagged(type, to, "union");
		break;
	case DW_TAG_enumeration_type:
		put_tagged(type, to, "enum");
		break;
	case DW_TAG_subroutine_type:
		put_target(type, to, depth);
		dep_text_add(to, " ()");
		break;
	default:
		name = dep_die_string(type, DW_AT_name);
		dep_text_add(to, "%s", name ? name : "?");
		break;
	}
}

void dep_type_name(Dwarf_Die *type, struct dep_text *to)
{
	put_name(type, to, 0);
}
