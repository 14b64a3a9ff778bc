/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Find the member or array element at an offset within a variable. */
#ifndef ADEPT_SYMBOLS_MEMBER_PATH_H
#define ADEPT_SYMBOLS_MEMBER_PATH_H

#include "internal.h"
#include "libdep/symbols/dwarf/types.h"

struct dep_part {
	Dwarf_Die type;		/* as declared, with qualifiers */
	u64 offset;		/* offset within @type */
	bool atomic;		/* it is atomic, or part of an atomic object */
	bool is_std;		/* an instance of std::atomic */
	bool exact;		/* a scalar of the requested size */
};

/**
 * dep_path() - replace @part by the smallest part that has all @size bytes at its offset
 * @vars: tells which types are std::atomic; their members are not named
 * @to: the path is appended, for example ".head[3].next"
 */
void dep_path(const struct dep_vars *vars, struct dep_part *part, u32 size, struct dep_text *to);

#endif
