/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* DWARF types: size, name in C syntax, dimensions of arrays. */
#ifndef ADEPT_SYMBOLS_DWARF_TYPES_H
#define ADEPT_SYMBOLS_DWARF_TYPES_H

#include "die.h"

/* A text of limited size: what does not fit into the buffer is replaced by "...". */
struct dep_text {
	char *buf;
	size_t size, n;
	bool cut;		/* the end of the text did not fit */
};

void dep_text_begin(struct dep_text *t, char *buf, size_t size);
void dep_text_add(struct dep_text *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * dep_type_peel() - replace @type by the type without typedefs and qualifiers
 * @atomic: set to true if a qualifier was _Atomic; may be NULL
 *
 * Return: false if the type is incomplete or malformed.
 */
bool dep_type_peel(Dwarf_Die *type, bool *atomic);

/** dep_type_size() - get the size of a type in bytes; 0: unknown */
u64 dep_type_size(Dwarf_Die *type);

#define DEP_DIMENSIONS 8

struct dep_array {
	Dwarf_Die element;
	u64 stride;		/* bytes from one element to the next, not 0 */
	u64 count[DEP_DIMENSIONS];	/* elements per dimension; 0 (only count[0]): unknown */
	u32 n;			/* number of dimensions */
};

/** dep_type_array() - describe a peeled array type; false if it is malformed */
bool dep_type_array(Dwarf_Die *type, struct dep_array *a);

/** dep_type_name() - append the name of a type to @to, for example "const struct node *[4]" */
void dep_type_name(Dwarf_Die *type, struct dep_text *to);

#endif
