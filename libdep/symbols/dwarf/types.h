/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Types: their sizes, their names as C writes them, arrays. */
#ifndef ADEPT_SYMBOLS_DWARF_TYPES_H
#define ADEPT_SYMBOLS_DWARF_TYPES_H

#include "die.h"

/* Text that is cut off where its buffer ends. */
struct dep_text {
	char *buf;
	size_t size, n;
	bool cut;
};

void dep_text_begin(struct dep_text *t, char *buf, size_t size);
void dep_text_add(struct dep_text *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** dep_type_peel() - what is below typedefs and qualifiers; *@atomic: one was _Atomic */
bool dep_type_peel(Dwarf_Die *type, bool *atomic);

/** dep_type_size() - bytes, 0 = not known */
u64 dep_type_size(Dwarf_Die *type);

#define DEP_DIMENSIONS 8

struct dep_array {
	Dwarf_Die element;
	u64 stride;		/* bytes from element to element, not 0 */
	u64 count[DEP_DIMENSIONS];	/* 0: not known; only the first can be */
	u32 n;
};

/** dep_type_array() - what a peeled array type is; false if it makes no sense */
bool dep_type_array(Dwarf_Die *type, struct dep_array *a);

/** dep_type_name() - "const struct node *[4]" */
void dep_type_name(Dwarf_Die *type, struct dep_text *to);

#endif
