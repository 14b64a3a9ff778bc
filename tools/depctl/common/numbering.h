/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Give equal keys equal numbers: 0, 1, 2 and so on, in the order of their first use. */
#ifndef DEPCTL_COMMON_NUMBERING_H
#define DEPCTL_COMMON_NUMBERING_H

#include <stddef.h>
#include <stdint.h>

#define NUMBERING_FULL	UINT32_MAX

/** struct numbering - all zero: no keys yet */
struct numbering {
	uint32_t *slot;		/* 1 + number of the key; 0: free */
	size_t nslots;
	struct { size_t at, size; uint64_t hash; } *key;	/* their bytes in @bytes */
	uint32_t n;
	size_t keys_room;
	char *bytes;
	size_t used, room;
};

/** number_of() - the number of a key; equal to @n before the call if it is new; NUMBERING_FULL: no
 *	memory
 */
uint32_t number_of(struct numbering *t, const void *key, size_t size);

/** number_find() - as number_of(), but a key without a number gets none: NUMBERING_FULL */
uint32_t number_find(const struct numbering *t, const void *key, size_t size);

/** number_key() - the bytes of key @number, until number_of() is called again */
const void *number_key(const struct numbering *t, uint32_t number);

void numbering_free(struct numbering *t);

#endif
