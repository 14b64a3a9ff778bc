// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "shared_mappings.h"

static struct sync_shared_map *find(const struct sync_shared_maps *s,
				    const struct sync_shared_map *like, u64 hash)
{
	struct sync_shared_map *v;
	u32 i = 0, at;

	while (sync_index_next(&s->index, hash, &i, &at)) {
		v = &s->v[at];
		if (v->image == like->image && v->at == like->at &&
		    sync_key_same(&v->key, &like->key))
			return v;
	}
	return NULL;
}

int sync_shared_maps_add(struct sync_shared_maps *s, const struct sync_shared_map *share)
{
	u64 hash = sync_index_mix(sync_index_mix(sync_key_hash(&share->key), share->image),
				  share->at);
	struct sync_shared_map *old = find(s, share, hash);
	size_t room = s->room ? 2 * s->room : 64;
	void *more;

	if (old) {
		old->writes |= share->writes;
		return 0;
	}
	if (s->n == s->room) {
		more = realloc(s->v, room * sizeof(*s->v));
		if (!more)
			return dep_fail(-ENOMEM, "cannot track shared memory");
		s->v = more;
		s->room = room;
	}
	if (sync_index_add(&s->index, hash, (u32)s->n))
		return dep_fail(-ENOMEM, "cannot track shared memory");
	s->v[s->n++] = *share;
	return 0;
}

static int compare(u64 a, u64 b)
{
	return (a > b) - (a < b);
}

static int by_key(const void *x, const void *y)
{
	const struct sync_shared_map *a = x, *b = y;
	int ret = compare(a->key.dev, b->key.dev);

	if (!ret)
		ret = compare(a->key.inode, b->key.inode);
	if (!ret)
		ret = compare(a->key.nth, b->key.nth);
	return ret ? ret : compare(a->image, b->image);
}

static int by_number(const void *x, const void *y)
{
	return compare(*(const u32 *)x, *(const u32 *)y);
}

/*
 * The @n mappings @v map the same memory. Do they share it: are there two, and is one writable?
 */
static bool is_shared(const struct sync_shared_map *v, size_t n)
{
	bool writes = false;
	size_t i;

	for (i = 0; i < n; i++)
		writes |= v[i].writes;
	return writes && n > 1;
}

int sync_shared_maps_resolve(struct sync_shared_maps *s)
{
	size_t i, from, n = 0;

	sync_index_free(&s->index);
	free(s->image);
	s->nimages = 0;
	s->image = calloc(s->n + 1, sizeof(*s->image));
	if (!s->image)
		return dep_fail(-ENOMEM, "cannot track shared memory");
	if (!s->n)
		return 0;
	qsort(s->v, s->n, sizeof(*s->v), by_key);
	for (from = 0, i = 1; i <= s->n; i++) {
		if (i < s->n && sync_key_same(&s->v[i].key, &s->v[from].key))
			continue;
		if (is_shared(s->v + from, i - from))
			for (; from < i; from++)
				s->image[n++] = s->v[from].image;
		from = i;
	}
	qsort(s->image, n, sizeof(*s->image), by_number);
	for (i = 0; i < n; i++)
		if (!s->nimages || s->image[i] != s->image[s->nimages - 1])
			s->image[s->nimages++] = s->image[i];
	return 0;
}

bool sync_shared_maps_has(const struct sync_shared_maps *s, u32 image)
{
	return s->nimages && bsearch(&image, s->image, s->nimages, sizeof(image), by_number);
}

void sync_shared_maps_free(struct sync_shared_maps *s)
{
	sync_index_free(&s->index);
	free(s->v);
	free(s->image);
	memset(s, 0, sizeof(*s));
}
