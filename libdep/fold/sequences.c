// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "sequences.h"

u32 dep_fold_sequences = DEP_FOLD_SEQUENCES;

int dep_sequences_init(struct dep_sequences *s)
{
	s->sequence = malloc(DEP_FOLD_SEQUENCES * sizeof(*s->sequence));
	s->bucket = calloc(DEP_SEQUENCES_BUCKETS, sizeof(*s->bucket));
	s->mark = calloc(DEP_SEQUENCES_BUCKETS, sizeof(*s->mark));
	s->n = 1;
	if (s->sequence && s->bucket && s->mark)
		return 0;
	dep_sequences_free(s);
	return -ENOMEM;
}

void dep_sequences_free(struct dep_sequences *s)
{
	free(s->sequence);
	free(s->bucket);
	free(s->mark);
	memset(s, 0, sizeof(*s));
}

/* The table does not fit into the cache, so all lines of it that are needed are loaded at once. */
void dep_sequences_find(const struct dep_sequences *s, const u32 *id, size_t n,
			struct dep_sequences_found *out)
{
	const size_t size = sizeof(s->sequence->id);
	u32 number;
	size_t i;

	for (i = 0; i < n; i++) {
		out->hash[i] = (u32)XXH3_64bits(id + i * DEP_FOLD_SEQUENCE, size);
		__builtin_prefetch(s->bucket + out->hash[i] % DEP_SEQUENCES_BUCKETS);
	}
	for (i = 0; i < n; i++) {
		out->number[i] = s->bucket[out->hash[i] % DEP_SEQUENCES_BUCKETS];
		__builtin_prefetch(s->sequence[out->number[i]].id);
		__builtin_prefetch(s->sequence[out->number[i]].exit);
	}
	for (i = 0; i < n; i++) {
		number = out->number[i];
		if (number && memcmp(s->sequence[number].id, id + i * DEP_FOLD_SEQUENCE, size))
			out->number[i] = 0;
	}
}

u32 dep_sequences_add(struct dep_sequences *s, const u32 *id, const u32 *exit, u32 hash)
{
	u32 slot = hash % DEP_SEQUENCES_BUCKETS;

	if (s->bucket[slot] || s->n >= dep_fold_sequences)
		return 0;
	if (s->mark[slot] != hash) {
		s->mark[slot] = hash;
		return 0;
	}
	memcpy(s->sequence[s->n].id, id, sizeof(s->sequence->id));
	memcpy(s->sequence[s->n].exit, exit, sizeof(s->sequence->exit));
	s->bucket[slot] = s->n;
	return s->n++;
}

bool dep_sequences_full(const struct dep_sequences *s, u32 more)
{
	return s->n + more > dep_fold_sequences;
}

void dep_sequences_clear(struct dep_sequences *s)
{
	memset(s->bucket, 0, DEP_SEQUENCES_BUCKETS * sizeof(*s->bucket));
	s->n = 1;
}
