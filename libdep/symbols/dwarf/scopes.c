// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdlib.h>
#include <string.h>

#include "scopes.h"
#include "types.h"
#include "libdep/symbols/base/grow.h"

void dep_scope_enter(struct dep_scope *in, const struct dep_scope *sc,
		     Dwarf_Die *die)
{
	const char *name = dep_die_string(die, DW_AT_name);

	*in = (struct dep_scope){ .up = sc, .die = die };
	if (dwarf_tag(die) == DW_TAG_namespace)
		in->is_std = sc->is_std || (!sc->die && name && !strcmp(name, "std"));
}

static void put_scope(struct dep_text *t, const struct dep_scope *sc)
{
	const char *name;

	if (!sc->die)
		return;
	put_scope(t, sc->up);
	name = dep_die_string(sc->die, DW_AT_name);
	if (name)
		dep_text_add(t, "%s::", name);
	else if (dwarf_tag(sc->die) == DW_TAG_namespace)
		dep_text_add(t, "(anonymous namespace)::");
}

void dep_scopes_note(struct dep_scopes *t, struct dep_strings *strings, Dwarf_Die *die,
			const struct dep_scope *sc)
{
	const char *name = sc->die ? dep_die_string(die, DW_AT_name) : NULL;
	struct dep_scoped *p;
	struct dep_text text;
	char buf[256];

	if (!name)
		return;
	p = dep_grow(t->row, t->n, &t->room, sizeof(*p));
	if (!p)
		return;
	t->row = p;
	dep_text_begin(&text, buf, sizeof(buf));
	put_scope(&text, sc);
	dep_text_add(&text, "%s", name);
	p[t->n].name = dep_string(strings, buf);
	p[t->n++].die = die->addr;
}

static int by_die(const void *pa, const void *pb)
{
	const char *a = ((const struct dep_scoped *)pa)->die;
	const char *b = ((const struct dep_scoped *)pb)->die;

	return a < b ? -1 : a > b;
}

void dep_scopes_seal(struct dep_scopes *t)
{
	if (t->n)
		qsort(t->row, t->n, sizeof(*t->row), by_die);
}

static const char *noted(const struct dep_scopes *t, const Dwarf_Die *die)
{
	struct dep_scoped want = { .die = die->addr }, *have;

	have = t->n ? bsearch(&want, t->row, t->n, sizeof(want), by_die) : NULL;
	return have ? have->name : NULL;
}

const char *dep_scopes_name(const struct dep_scopes *t, struct dep_strings *strings,
			    Dwarf_Die *die)
{
	const char *name;
	Dwarf_Die decl;

	/* Prefer the scope of the declaration: a definition may be outside of its class. */
	if (!dep_die_declares(die, DW_AT_name, &decl))
		return NULL;
	name = noted(t, &decl);
	if (!name)
		name = noted(t, die);
	return name ? name : dep_string(strings, dep_die_string(&decl, DW_AT_name));
}

void dep_scopes_free(struct dep_scopes *t)
{
	free(t->row);
	*t = (struct dep_scopes){ 0 };
}
