// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hash table with linear probing, at most half full.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "numbering.h"

#define FIRST_SLOTS	1024u
#define MAX_KEYS	(1u << 31)

/* The slot with the key, or the free one for it. */
static size_t slot_of(const struct numbering *t, const void *key, size_t size, uint64_t hash)
{
	size_t i = hash & (t->nslots - 1), k;

	for (; t->slot[i]; i = (i + 1) & (t->nslots - 1)) {
		k = t->slot[i] - 1;
		if (t->key[k].hash == hash && t->key[k].size == size &&
		    !memcmp(t->bytes + t->key[k].at, key, size))
			break;
	}
	return i;
}

static bool grow_slots(struct numbering *t)
{
	size_t n = t->nslots ? 2 * t->nslots : FIRST_SLOTS, i, k;
	uint32_t *slot = calloc(n, sizeof(*slot));

	if (!slot)
		return false;
	for (k = 0; k < t->n; k++) {
		i = t->key[k].hash & (n - 1);
		while (slot[i])
			i = (i + 1) & (n - 1);
		slot[i] = (uint32_t)k + 1;
	}
	free(t->slot);
	t->slot = slot;
	t->nslots = n;
	return true;
}

static bool make_room(struct numbering *t, size_t size)
{
	size_t keys = t->keys_room ? 2 * t->keys_room : FIRST_SLOTS;
	size_t bytes = 2 * t->room + size + 4096;
	void *p;

	if (t->n == t->keys_room) {
		p = reallocarray(t->key, keys, sizeof(*t->key));
		if (!p)
			return false;
		t->key = p;
		t->keys_room = keys;
	}
	if (t->room - t->used < size) {
		p = realloc(t->bytes, bytes);
		if (!p)
			return false;
		t->bytes = p;
		t->room = bytes;
	}
	return t->n < t->nslots / 2 || grow_slots(t);
}

uint32_t number_of(struct numbering *t, const void *key, size_t size)
{
	uint64_t hash = XXH3_64bits(key, size);
	size_t i;

	if (t->n == MAX_KEYS || !make_room(t, size))
		return NUMBERING_FULL;
	i = slot_of(t, key, size, hash);
	if (t->slot[i])
		return t->slot[i] - 1;
	t->key[t->n].at = t->used;
	t->key[t->n].size = size;
	t->key[t->n].hash = hash;
	/* Without keys there is no memory for the bytes of an empty one. */
	if (size)
		memcpy(t->bytes + t->used, key, size);
	t->used += size;
	t->slot[i] = ++t->n;
	return t->n - 1;
}

uint32_t number_find(const struct numbering *t, const void *key, size_t size)
{
	size_t i;

	if (!t->nslots)
		return NUMBERING_FULL;
	i = slot_of(t, key, size, XXH3_64bits(key, size));
	return t->slot[i] ? t->slot[i] - 1 : NUMBERING_FULL;
}

const void *number_key(const struct numbering *t, uint32_t number)
{
	return t->bytes + t->key[number].at;
}

void numbering_free(struct numbering *t)
{
	free(t->slot);
	free(t->key);
	free(t->bytes);
	memset(t, 0, sizeof(*t));
}
