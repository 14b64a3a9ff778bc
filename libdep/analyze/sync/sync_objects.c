// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdlib.h>

#include "sync_objects.h"

static u32 hash(enum sync_object_kind kind, u64 id)
{
	return (u32)((id + ((u64)kind << 60)) * 0x9e3779b97f4a7c15ull >> 32);
}

struct sync_object *sync_object_find(const struct sync_objects *o, enum sync_object_kind kind,
				     u64 id)
{
	struct sync_object *at;

	if (!o->nbuckets)
		return NULL;
	at = o->bucket[hash(kind, id) & (o->nbuckets - 1)];
	while (at && (at->id != id || at->kind != kind))
		at = at->next;
	return at;
}

static int grow(struct sync_objects *o)
{
	u32 i, n = o->nbuckets ? o->nbuckets * 2 : 256;
	struct sync_object **bucket = calloc(n, sizeof(struct sync_object *)), **to, *at;

	if (!bucket)
		return -1;
	for (i = 0; i < o->nbuckets; i++) {
		while ((at = o->bucket[i])) {
			o->bucket[i] = at->next;
			to = &bucket[hash(at->kind, at->id) & (n - 1)];
			at->next = *to;
			*to = at;
		}
	}
	free(o->bucket);
	o->bucket = bucket;
	o->nbuckets = n;
	return 0;
}

struct sync_object *sync_object_get(struct sync_objects *o, enum sync_object_kind kind, u64 id)
{
	struct sync_object *at = sync_object_find(o, kind, id), **to;
	u32 line;

	if (at || (o->n == o->nbuckets && grow(o)))
		return at;
	at = calloc(1, sizeof(*at));
	if (!at)
		return NULL;
	at->kind = kind;
	at->id = id;
	to = &o->bucket[hash(kind, id) & (o->nbuckets - 1)];
	at->next = *to;
	*to = at;
	o->n++;
	if (kind == SYNC_WORD) {
		line = sync_line_hash(id * 4);
		o->lines[line >> 6] |= 1ull << (line & 63);
	}
	return at;
}

void sync_objects_free(struct sync_objects *o, struct race_detector *d)
{
	struct sync_object *at;
	u32 i;

	for (i = 0; i < o->nbuckets; i++) {
		while ((at = o->bucket[i])) {
			o->bucket[i] = at->next;
			race_sync_free(d, &at->sync);
			predict_sync_free(&at->predict);
			free(at);
		}
	}
	free(o->bucket);
	o->bucket = NULL;
	o->nbuckets = o->n = 0;
}
