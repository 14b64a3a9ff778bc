/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Access to DWARF entries (DIEs) that terminates even for malformed files. libdw's own functions
 * follow chains of references and siblings without a limit.
 */
#ifndef ADEPT_SYMBOLS_DWARF_DIE_H
#define ADEPT_SYMBOLS_DWARF_DIE_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>

#include "libdep/symbols/base/string_pool.h"

/** dep_die_attr() - get attribute @name of @die, or of its abstract origin or declaration */
bool dep_die_attr(Dwarf_Die *die, unsigned int name, Dwarf_Attribute *out);
/** dep_die_declares() - find which of @die, its origin and declaration has attribute @name */
bool dep_die_declares(Dwarf_Die *die, unsigned int name, Dwarf_Die *out);
/* Get an attribute, as dep_die_attr() does, as a string (NULL: none), a number or a flag. */
const char *dep_die_string(Dwarf_Die *die, unsigned int name);
bool dep_die_number(Dwarf_Die *die, unsigned int name, u64 *out);
bool dep_die_flag(Dwarf_Die *die, unsigned int name);
/** dep_die_linkage() - get the linkage (mangled) name of @die, or NULL */
const char *dep_die_linkage(Dwarf_Die *die);
/** dep_die_ref() - get the entry to which attribute @name of @die refers */
bool dep_die_ref(Dwarf_Die *die, unsigned int name, Dwarf_Die *out);

/** struct dep_walk - limit of a walk: number of entries that it may still visit */
struct dep_walk {
	u64 left;
};

/** dep_walk_begin() - set the limit to the maximum number of entries that @unit can have */
void dep_walk_begin(struct dep_walk *w, Dwarf_Die *unit);
/** dep_walk_first() - get the first child of @of; false: no child, or the limit is reached */
bool dep_walk_first(struct dep_walk *w, Dwarf_Die *of, Dwarf_Die *child);
/** dep_walk_next() - replace @die by its next sibling; false: none, or the limit is reached */
bool dep_walk_next(struct dep_walk *w, Dwarf_Die *die);

#define DEP_WALK_DEPTH 128	/* maximum nesting depth of entries that a walk visits */

/** dep_die_path() - make a source path absolute, by the compilation directory of @unit */
const char *dep_die_path(struct dep_strings *strings, Dwarf_Die *unit, const char *path);
/** dep_die_file() - get the path of file number @file in the file table of @unit, or NULL */
const char *dep_die_file(struct dep_strings *strings, Dwarf_Die *unit, u64 file);

#endif
