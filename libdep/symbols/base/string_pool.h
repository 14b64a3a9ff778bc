/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* String pool: interned strings that are freed together. */
#ifndef ADEPT_SYMBOLS_BASE_STRING_POOL_H
#define ADEPT_SYMBOLS_BASE_STRING_POOL_H

#include "libdep/abi/types.h"

struct dep_strings {
	char **slot;
	size_t n, room;
};

/**
 * dep_string() - intern @s, with control characters replaced by '?'
 *
 * Return: the interned string, the same pointer for the same text; NULL if @s is NULL or there is
 * no memory.
 */
const char *dep_string(struct dep_strings *p, const char *s);
void dep_strings_free(struct dep_strings *p);

#endif
