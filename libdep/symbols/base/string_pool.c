// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "string_pool.h"

static char clean(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f ? '?' : c;
}

static u64 hash_of(const char *s, size_t n)
{
	return XXH3_64bits(s, n);
}

static bool grow(struct dep_strings *p)
{
	size_t room = p->room ? 2 * p->room : 256, i, at;
	char **slot = calloc(room, sizeof(*slot));

	if (!slot)
		return false;
	for (i = 0; i < p->room; i++) {
		if (!p->slot[i])
			continue;
		at = hash_of(p->slot[i], strlen(p->slot[i])) & (room - 1);
		while (slot[at])
			at = (at + 1) & (room - 1);
		slot[at] = p->slot[i];
	}
	free(p->slot);
	p->slot = slot;
	p->room = room;
	return true;
}

/*
 * Return: a copy of @s without control characters; NULL if @s has none, or if there is no memory,
 * which sets *@failed.
 */
static char *cleaned(const char *s, bool *failed)
{
	size_t i, n = strlen(s);
	char *copy;

	*failed = false;
	for (i = 0; i < n && clean(s[i]) == s[i]; i++)
		;
	if (i == n)
		return NULL;
	copy = strdup(s);
	*failed = !copy;
	for (; copy && i < n; i++)
		copy[i] = clean(s[i]);
	return copy;
}

const char *dep_string(struct dep_strings *p, const char *s)
{
	bool failed;
	char *copy;
	size_t at;

	if (!s || (2 * p->n >= p->room && !grow(p)))
		return NULL;
	copy = cleaned(s, &failed);
	if (failed)
		return NULL;
	if (copy)
		s = copy;
	for (at = hash_of(s, strlen(s)) & (p->room - 1); p->slot[at]; at = (at + 1) & (p->room - 1))
		if (!strcmp(p->slot[at], s)) {
			free(copy);
			return p->slot[at];
		}
	p->slot[at] = copy ? copy : strdup(s);
	if (p->slot[at])
		p->n++;
	return p->slot[at];
}

void dep_strings_free(struct dep_strings *p)
{
	size_t i;

	for (i = 0; i < p->room; i++)
		free(p->slot[i]);
	free(p->slot);
	*p = (struct dep_strings){ 0 };
}
