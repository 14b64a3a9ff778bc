/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Types: size, name in C syntax, arrays. */
#ifndef ADEPT_SYMBOLS_DWARF_TYPES_H
#define ADEPT_SYMBOLS_DWARF_TYPES_H

#include "die.h"

/* A text, cut at the end of its buffer. */
struct dep_text {
	char *buf;
	size_t size, n;
	bool cut;
};

void dep_text_begin(struct dep_text *t, char *buf, size_t size);
void dep_text_add(struct dep_text *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** dep_type_peel() - remove typedefs and qualifiers; *@atomic: one was _Atomic */
bool dep_type_peel(Dwarf_Die *type, bool *atomic);

/** dep_type_size() - in bytes; 0: not known */
u64 dep_type_size(Dwarf_Die *type);

#define DEP_DIMENSIONS 8

struct dep_array {
	Dwarf_Die element;
	u64 stride;		/* bytes from element to element, not 0 */
	u64 count[DEP_DIMENSIONS];	/* 0: not known, which only the first can be */
	u32 n;
};

/** dep_type_array() - describe a peeled array type; false if it is malformed */
bool dep_type_array(Dwarf_Die *type, struct dep_array *a);

/** dep_type_name() - append the name, for example "const struct node *[4]" */
void dep_type_name(Dwarf_Die *type, struct dep_text *to);

#endif
