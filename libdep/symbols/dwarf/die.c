// SPDX-License-Identifier: LGPL-2.1-or-later
#include <limits.h>
#include <stdio.h>

#include "die.h"

#define MAX_CHAIN	16	/* maximum number of abstract origins and declarations to follow */

bool dep_die_declares(Dwarf_Die *die, unsigned int name, Dwarf_Die *out)
{
	Dwarf_Attribute a;
	Dwarf_Die next;
	int i;

	*out = *die;
	for (i = 0; i < MAX_CHAIN; i++) {
		if (dwarf_hasattr(out, name))
			return true;
		if (!dwarf_attr(out, DW_AT_abstract_origin, &a) &&
		    !dwarf_attr(out, DW_AT_specification, &a))
			return false;
		if (!dwarf_formref_die(&a, &next))
			return false;
		*out = next;
	}
	return false;
}

bool dep_die_attr(Dwarf_Die *die, unsigned int name, Dwarf_Attribute *out)
{
	Dwarf_Die at;

	return dep_die_declares(die, name, &at) && dwarf_attr(&at, name, out);
}

const char *dep_die_string(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute a;

	return dep_die_attr(die, name, &a) ? dwarf_formstring(&a) : NULL;
}

bool dep_die_number(Dwarf_Die *die, unsigned int name, u64 *out)
{
	Dwarf_Attribute a;
	Dwarf_Word v;

	if (!dep_die_attr(die, name, &a) || dwarf_formudata(&a, &v))
		return false;
	*out = v;
	return true;
}

bool dep_die_flag(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute a;
	bool v;

	return dep_die_attr(die, name, &a) && !dwarf_formflag(&a, &v) && v;
}

const char *dep_die_linkage(Dwarf_Die *die)
{
	const char *name = dep_die_string(die, DW_AT_linkage_name);

	return name ? name : dep_die_string(die, DW_AT_MIPS_linkage_name);
}

bool dep_die_ref(Dwarf_Die *die, unsigned int name, Dwarf_Die *out)
{
	Dwarf_Attribute a;

	return dep_die_attr(die, name, &a) && dwarf_formref_die(&a, out);
}

void dep_walk_begin(struct dep_walk *w, Dwarf_Die *unit)
{
	Dwarf_Off here = dwarf_dieoffset(unit), next;
	size_t header;

	/*
	 * An entry has at least one byte, so the size of the unit is the limit. The size of a type
	 * unit is not computed, as it may be in another section: use a fixed limit.
	 */
	w->left = 1 << 24;
	if (dwarf_tag(unit) != DW_TAG_type_unit &&
	    !dwarf_nextcu(dwarf_cu_getdwarf(unit->cu), here - dwarf_cuoffset(unit), &next,
			  &header, NULL, NULL, NULL) && next > here)
		w->left = next - here;
}

bool dep_walk_first(struct dep_walk *w, Dwarf_Die *of, Dwarf_Die *child)
{
	if (!w->left)
		return false;
	w->left--;
	return dwarf_child(of, child) == 0;
}

bool dep_walk_next(struct dep_walk *w, Dwarf_Die *die)
{
	Dwarf_Die next;

	if (!w->left)
		return false;
	w->left--;
	/* A sibling must come later in the file than its predecessor: this excludes cycles. */
	if (dwarf_siblingof(die, &next) || (const char *)next.addr <= (const char *)die->addr)
		return false;
	*die = next;
	return true;
}

const char *dep_die_path(struct dep_strings *strings, Dwarf_Die *unit, const char *path)
{
	const char *dir = path && path[0] != '/' ? dep_die_string(unit, DW_AT_comp_dir) : NULL;
	char whole[PATH_MAX];
	int n;

	if (!dir)
		return dep_string(strings, path);
	n = snprintf(whole, sizeof(whole), "%s/%s", dir, path);
	return dep_string(strings, n > 0 && (size_t)n < sizeof(whole) ? whole : path);
}

const char *dep_die_file(struct dep_strings *strings, Dwarf_Die *unit, u64 file)
{
	Dwarf_Files *files;
	size_t n;

	if (dwarf_getsrcfiles(unit, &files, &n) || file >= n)
		return NULL;
	return dep_die_path(strings, unit, dwarf_filesrc(files, file, NULL, NULL));
}
