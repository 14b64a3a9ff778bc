/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Find the member or array element at an offset within a variable. */
#ifndef ADEPT_SYMBOLS_MEMBER_PATH_H
#define ADEPT_SYMBOLS_MEMBER_PATH_H

#include "internal.h"
#include "libdep/symbols/dwarf/types.h"

struct dep_part {
	Dwarf_Die type;		/* declared type of the part, with qualifiers */
	u64 offset;		/* byte offset of the accessed bytes within the part */
	bool atomic;		/* the part is atomic, or in an atomic object */
	bool is_std;		/* the part is an instance of std::atomic */
	bool exact;		/* the part is a scalar of the accessed size */
};

/**
 * dep_path() - replace @part by its smallest member or element that contains the accessed bytes
 * @vars: has the list of std::atomic types, whose members are not named
 * @size: number of bytes accessed, at @part->offset
 * @to: receives the path to the member, for example ".head[3].next"
 */
void dep_path(const struct dep_vars *vars, struct dep_part *part, u32 size, struct dep_text *to);

#endif
