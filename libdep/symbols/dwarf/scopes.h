/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Scopes (namespaces, classes, functions) of functions and variables. A DWARF entry has no link to
 * its parent, so a walk through the tree records the scopes of all entries without a linkage name.
 */
#ifndef ADEPT_SYMBOLS_DWARF_SCOPES_H
#define ADEPT_SYMBOLS_DWARF_SCOPES_H

#include "die.h"
#include "libdep/symbols/base/string_pool.h"

struct dep_scope {
	const struct dep_scope *up;	/* enclosing scope */
	Dwarf_Die *die;		/* namespace, class or function; NULL: the compilation unit */
	bool is_std;		/* namespace std, or a namespace in it */
};

struct dep_scoped {
	const void *die;	/* address of the DWARF entry */
	const char *name;	/* full name, for example "space::Class::name" */
};

struct dep_scopes {
	struct dep_scoped *row;
	size_t n, room;
};

/** dep_scope_enter() - set @in to the scope that @die makes, within the scope @sc */
void dep_scope_enter(struct dep_scope *in, const struct dep_scope *sc,
		     Dwarf_Die *die);
/** dep_scopes_note() - record the full name of @die, which is in scope @sc */
void dep_scopes_note(struct dep_scopes *t, struct dep_strings *strings, Dwarf_Die *die,
			const struct dep_scope *sc);
/** dep_scopes_seal() - prepare for lookups, after all names were recorded */
void dep_scopes_seal(struct dep_scopes *t);
/** dep_scopes_name() - get the recorded full name of @die, or else its plain name, or NULL */
const char *dep_scopes_name(const struct dep_scopes *t, struct dep_strings *strings,
			    Dwarf_Die *die);
void dep_scopes_free(struct dep_scopes *t);

#endif
