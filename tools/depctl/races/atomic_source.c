// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recognise atomic operations in the source code.
 *
 * Compilers turn an atomic load or store into a plain move.  The types in the debug information
 * often do not show that a word is atomic, for example if it is accessed through a pointer.  But
 * the debug information has the line and column of each instruction.  An access is atomic if the
 * source has a call of atomic_load(), __atomic_store_n() or a similar function at this line and
 * column.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "races.h"

/* True if a call of a compiler builtin or a stdatomic.h macro, such as atomic_load(, is at @at. */
static bool is_operation(const char *at)
{
	at += strspn(at, "_");
	if (!strncmp(at, "c11_", 4))
		at += 4;
	if (strncasecmp(at, "atomic", 6))
		return false;
	while (isalnum((unsigned char)*at) || *at == '_')
		at++;
	return at[strspn(at, " \t")] == '(';
}

bool race_source_atomic(struct source_file *s, const struct dep_place *p)
{
	struct stat module;
	const char *at;

	if (!p->file || !p->line || !p->column || stat(p->module, &module))
		return false;
	/* The source may have changed after the module was built. */
	at = source_file_line(s, p->file, p->line, &module.st_mtim);
	return at && p->column <= strcspn(at, "\n") && is_operation(at + p->column - 1);
}
