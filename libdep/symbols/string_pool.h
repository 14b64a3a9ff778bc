/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Strings that are kept once each, until all of them go. */
#ifndef ADEPT_SYMBOLS_STRING_POOL_H
#define ADEPT_SYMBOLS_STRING_POOL_H

#include "libdep/abi/types.h"

struct dep_strings {
	char **slot;
	size_t n, room;
};

/**
 * dep_string() - @s as it is kept; control characters become '?'
 *
 * Return: the same pointer for the same text; NULL if @s is NULL or there is no memory.
 */
const char *dep_string(struct dep_strings *p, const char *s);
void dep_strings_free(struct dep_strings *p);

#endif
