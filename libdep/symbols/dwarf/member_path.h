/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From a variable's type and an offset in it to the member or element there. */
#ifndef ADEPT_SYMBOLS_DWARF_MEMBER_PATH_H
#define ADEPT_SYMBOLS_DWARF_MEMBER_PATH_H

#include "libdep/symbols/internal.h"
#include "types.h"

struct dep_part {
	Dwarf_Die type;		/* as declared, qualifiers included */
	u64 offset;		/* in it */
	bool atomic;		/* it is, or is in, something atomic */
	bool is_std;		/* an instance of std::atomic */
	bool exact;		/* a scalar of just the size asked for */
};

/**
 * dep_path() - go down from @part to the smallest one with all of @size bytes at its offset
 * @vars: knows which types are std::atomic, of which no member is named
 * @to: ".head[3].next" is added
 */
void dep_path(const struct dep_vars *vars, struct dep_part *part, u32 size, struct dep_text *to);

#endif
