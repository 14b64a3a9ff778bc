/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * DWARF entries, read so that no file can make it endless: libdw's own helpers follow
 * chains of references, and siblings, as far as these lead.
 */
#ifndef ADEPT_SYMBOLS_DWARF_DIE_H
#define ADEPT_SYMBOLS_DWARF_DIE_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>

#include "libdep/symbols/string_pool.h"

/** dep_die_attr() - attribute @name of @die or of what it is an instance of */
bool dep_die_attr(Dwarf_Die *die, unsigned int name, Dwarf_Attribute *out);
/** dep_die_declares() - which entry that is, of @die and those it is an instance of */
bool dep_die_declares(Dwarf_Die *die, unsigned int name, Dwarf_Die *out);
/* The attribute as a string (NULL: none), a number, a flag. */
const char *dep_die_string(Dwarf_Die *die, unsigned int name);
bool dep_die_number(Dwarf_Die *die, unsigned int name, u64 *out);
bool dep_die_flag(Dwarf_Die *die, unsigned int name);
/** dep_die_linkage() - the name that the linker has, or NULL */
const char *dep_die_linkage(Dwarf_Die *die);
/** dep_die_ref() - the entry that an attribute of @die refers to */
bool dep_die_ref(Dwarf_Die *die, unsigned int name, Dwarf_Die *out);

/** struct dep_walk - how many entries may still be looked at */
struct dep_walk {
	u64 left;
};

/** dep_walk_begin() - as many as @unit can hold */
void dep_walk_begin(struct dep_walk *w, Dwarf_Die *unit);
/** dep_walk_first() - @child = first child of @of; false if there is none */
bool dep_walk_first(struct dep_walk *w, Dwarf_Die *of, Dwarf_Die *child);
/** dep_walk_next() - @die = its next sibling; false if there is none */
bool dep_walk_next(struct dep_walk *w, Dwarf_Die *die);

#define DEP_WALK_DEPTH 128	/* of entries in entries */

/** dep_die_path() - @path as @unit means it: after its directory, unless absolute */
const char *dep_die_path(struct dep_strings *strings, Dwarf_Die *unit, const char *path);
/** dep_die_file() - path of file number @file in @unit's table, or NULL */
const char *dep_die_file(struct dep_strings *strings, Dwarf_Die *unit, u64 file);

#endif
