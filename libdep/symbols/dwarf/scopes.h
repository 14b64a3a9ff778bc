/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Scopes of functions and variables. A DWARF entry has no link to its parent, so scopes are noted
 * on the way down, for entries without a linkage name.
 */
#ifndef ADEPT_SYMBOLS_DWARF_SCOPES_H
#define ADEPT_SYMBOLS_DWARF_SCOPES_H

#include "die.h"
#include "libdep/symbols/base/string_pool.h"

struct dep_scope {
	const struct dep_scope *up;
	Dwarf_Die *die;		/* namespace, class or function; NULL: the unit */
	bool is_std;		/* namespace std, or an inline namespace in it */
};

struct dep_scoped {
	const void *die;
	const char *name;	/* for example "space::Class::name" */
};

struct dep_scopes {
	struct dep_scoped *row;
	size_t n, room;
};

/** dep_scope_enter() - set @in to the scope @die within @sc */
void dep_scope_enter(struct dep_scope *in, const struct dep_scope *sc,
		     Dwarf_Die *die);
/** dep_scopes_note() - note that @die is in @sc */
void dep_scopes_note(struct dep_scopes *t, struct dep_strings *strings, Dwarf_Die *die,
			const struct dep_scope *sc);
/** dep_scopes_seal() - sort for lookups, after all were noted */
void dep_scopes_seal(struct dep_scopes *t);
/** dep_scopes_name() - name of @die, with its scope if noted; or NULL */
const char *dep_scopes_name(const struct dep_scopes *t, struct dep_strings *strings,
			    Dwarf_Die *die);
void dep_scopes_free(struct dep_scopes *t);

#endif
