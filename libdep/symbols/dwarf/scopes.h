/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What functions and variables are declared in: entries have no way up, so it is noted on
 * the way down, for those of which no linker's name tells.
 */
#ifndef ADEPT_SYMBOLS_DWARF_SCOPES_H
#define ADEPT_SYMBOLS_DWARF_SCOPES_H

#include "die.h"
#include "libdep/symbols/string_pool.h"

struct dep_process_filter {
	const struct dep_process_filter *up;
	Dwarf_Die *die;		/* namespace, class or function; NULL: the unit */
	bool is_std;		/* namespace std, or an inline one in it */
};

struct dep_scoped {
	const void *die;
	const char *name;	/* "space::Class::name" */
};

struct dep_scopes {
	struct dep_scoped *row;
	size_t n, room;
};

/** dep_scope_enter() - @in = @die in @sc */
void dep_scope_enter(struct dep_process_filter *in, const struct dep_process_filter *sc,
		     Dwarf_Die *die);
/** dep_scopes_message() - @die, which is in @sc */
void dep_scopes_message(struct dep_scopes *t, struct dep_strings *strings, Dwarf_Die *die,
			const struct dep_process_filter *sc);
/** dep_scopes_seal() - all are noted */
void dep_scopes_seal(struct dep_scopes *t);
/** dep_scopes_name() - name of @die, with its scope if that was noted, or NULL */
const char *dep_scopes_name(const struct dep_scopes *t, struct dep_strings *strings,
			    Dwarf_Die *die);
void dep_scopes_free(struct dep_scopes *t);

#endif
