/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Access to DWARF entries (DIEs) that always terminates. libdw's own functions follow chains of
 * references and siblings without a limit.
 */
#ifndef ADEPT_SYMBOLS_DWARF_DIE_H
#define ADEPT_SYMBOLS_DWARF_DIE_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>

#include "libdep/symbols/base/string_pool.h"

/** dep_die_attr() - attribute @name of @die, or of the entry that it is an instance of */
bool dep_die_attr(Dwarf_Die *die, unsigned int name, Dwarf_Attribute *out);
/** dep_die_declares() - the first of @die and the entries it is an instance of that has @name */
bool dep_die_declares(Dwarf_Die *die, unsigned int name, Dwarf_Die *out);
/* The attribute as a string (NULL: none), a number, a flag. */
const char *dep_die_string(Dwarf_Die *die, unsigned int name);
bool dep_die_number(Dwarf_Die *die, unsigned int name, u64 *out);
bool dep_die_flag(Dwarf_Die *die, unsigned int name);
/** dep_die_linkage() - linkage name, or NULL */
const char *dep_die_linkage(Dwarf_Die *die);
/** dep_die_ref() - the entry that an attribute of @die refers to */
bool dep_die_ref(Dwarf_Die *die, unsigned int name, Dwarf_Die *out);

/** struct dep_walk - number of entries that may still be visited */
struct dep_walk {
	u64 left;
};

/** dep_walk_begin() - set the limit to the number that @unit can have at most */
void dep_walk_begin(struct dep_walk *w, Dwarf_Die *unit);
/** dep_walk_first() - get the first child of @of; false: none */
bool dep_walk_first(struct dep_walk *w, Dwarf_Die *of, Dwarf_Die *child);
/** dep_walk_next() - replace @die by its next sibling; false: none */
bool dep_walk_next(struct dep_walk *w, Dwarf_Die *die);

#define DEP_WALK_DEPTH 128	/* limit of nesting */

/** dep_die_path() - make @path absolute by @unit's directory */
const char *dep_die_path(struct dep_strings *strings, Dwarf_Die *unit, const char *path);
/** dep_die_file() - path of file number @file in @unit's table, or NULL */
const char *dep_die_file(struct dep_strings *strings, Dwarf_Die *unit, u64 file);

#endif
