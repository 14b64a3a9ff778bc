// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names in exported profiles.
 */
#include <stdio.h>

#include "tools/depctl/depctl.h"
#include "names.h"

const char *export_name(const struct export *x, uint32_t f, const char **stub)
{
	*stub = "";
	if (f == NO_FUNCTION)
		return "[unknown]";
	if (x->l.function[f].stub)
		*stub = "@plt";
	return x->l.function[f].name;
}

const char *export_title(const struct export *x, uint32_t f, char *room, size_t size)
{
	const char *stub, *name = export_name(x, f, &stub);

	if (!*stub)
		return name;
	snprintf(room, size, "%s%s", name, stub);
	return room;
}

const char *export_program(const struct export *x, uint32_t process)
{
	const struct dep_process *p = process_of(x->l.store, process);

	return p && p->exe && *p->exe ? base_name(p->exe) : "[unknown]";
}
