// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "sync.h"

#define PAGE	4096u

/* ---- regions of shared memory ---- */

static struct sync_region *find_region(const struct sync_regions *all,
				       const struct sync_key *key)
{
	u64 hash = sync_key_hash(key);
	u32 i = 0, at;

	while (sync_index_next(&all->index, hash, &i, &at))
		if (sync_key_same(&all->v[at]->key, key))
			return all->v[at];
	return NULL;
}

/* Add a region with @key to @all; NULL: no memory. */
static struct sync_region *make_region(struct sync_regions *all, const struct sync_key *key)
{
	u32 room = all->room ? 2 * all->room : 16;
	struct sync_region *r;
	void *more;

	if (all->n == all->room) {
		more = realloc(all->v, room * sizeof(struct sync_region *));
		if (!more)
			return NULL;
		all->v = more;
		all->room = room;
	}
	r = calloc(1, sizeof(*r));
	if (!r || sync_index_add(&all->index, sync_key_hash(key), all->n)) {
		free(r);
		return NULL;
	}
	r->key = *key;
	r->base = SYNC_SHARED | (u64)all->n << SYNC_REGION;
	all->v[all->n++] = r;
	return r;
}

/* Find or make the region of @key; *@out is NULL if there are too many regions. */
static int region_of(struct sync_process *p, const struct sync_key *key,
		     struct sync_region **out)
{
	*out = find_region(&p->regions, key);
	if (*out || p->regions.n == SYNC_REGIONS)
		return 0;
	*out = make_region(&p->regions, key);
	return *out ? 0 : sync_no_memory();
}

/*
 * A mapping of @r is gone. After the last one of all images, forget the accesses to the region,
 * since another file may get its inode number.
 */
static int leave_region(struct sync_process *p, struct sync_region *r)
{
	if (!r || --r->maps)
		return 0;
	return race_forget(p->detector, r->base, 1ull << SYNC_REGION);
}

void sync_regions_free(struct sync_regions *r)
{
	while (r->n)
		free(r->v[--r->n]);
	free(r->v);
	sync_index_free(&r->index);
}

/* ---- mappings of an image ---- */

/* Make room for one more element in the array *@v of @n elements. */
static int extend(struct sync_map **v, u32 n, u32 *room)
{
	u32 want = *room ? 2 * *room : 8;
	void *more;

	if (n < *room)
		return 0;
	more = realloc(*v, want * sizeof(**v));
	if (!more)
		return sync_no_memory();
	*v = more;
	*room = want;
	return 0;
}

/* Find the index of the first mapping that ends after @address. */
static u32 first_behind(const struct sync_maps *s, u64 address)
{
	u32 low = 0, high = s->n, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (s->v[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Add a mapping at addresses where @s has none. */
static int add(struct sync_maps *s, const struct sync_map *map)
{
	u32 i = first_behind(s, map->start);
	int err = extend(&s->v, s->n, &s->room);

	if (err)
		return err;
	memmove(s->v + i + 1, s->v + i, (s->n++ - i) * sizeof(*s->v));
	s->v[i] = *map;
	if (map->region)
		map->region->maps++;
	return 0;
}

/* Keep @map in the list of former mappings, which sync_address() searches. */
static int remember(struct sync_maps *s, const struct sync_map *map)
{
	u64 hash = sync_index_mix(sync_index_mix(sync_index_mix(map->region->base, map->start),
						 map->end), map->offset);
	const struct sync_map *w;
	u32 i = 0, at;

	while (sync_index_next(&s->was_index, hash, &i, &at)) {
		w = &s->was[at];
		if (w->region == map->region && w->start == map->start && w->end == map->end &&
		    w->offset == map->offset)
			return 0;
	}
	if (extend(&s->was, s->nwas, &s->was_room))
		return -ENOMEM;
	if (sync_index_add(&s->was_index, hash, s->nwas))
		return sync_no_memory();
	s->was[s->nwas++] = *map;
	return 0;
}

/* In the first pass, note the mapping, to find the images that share memory. */
static int note(const struct sync_image *m, const struct sync_map *map)
{
	struct sync_shared_map share = {
		.key = map->key, .image = m->serial, .writes = map->writes, .at = map->start,
	};

	return m->sync->shares && m->sync->pass == SYNC_FIRST ?
	       sync_shared_maps_add(m->sync->shares, &share) : 0;
}

static int map(struct sync_image *m, struct sync_map *map)
{
	int err;

	if (map->end <= map->start || map->end >> SYNC_NUMBER)
		return 0;
	map->region = NULL;
	err = note(m, map);
	if (err || !m->grouped)
		return err ? err : add(&m->maps, map);
	/* Memory at too large offsets or in too many regions counts as private. */
	if (map->offset >> SYNC_REGION ||
	    (map->offset + (map->end - map->start)) >> SYNC_REGION)
		return 0;
	err = region_of(m->process, &map->key, &map->region);
	if (err || !map->region)
		return err;
	err = remember(&m->maps, map);
	return err ? err : add(&m->maps, map);
}

/* Remove the range from @start to @end from the middle of mapping @i. */
static int split(struct sync_maps *s, u32 i, u64 start, u64 end)
{
	struct sync_map after = s->v[i];

	after.start = end;
	after.offset += end - s->v[i].start;
	s->v[i].end = start;
	return add(s, &after);
}

/* Remove all mappings, and parts of mappings, from @start to @end. */
static int cut(struct sync_image *m, u64 start, u64 end)
{
	struct sync_maps *s = &m->maps;
	u32 from = first_behind(s, start), to;
	int err = 0;

	/* Ignore a range that wraps, which comes from a damaged store. */
	if (end <= start || from == s->n)
		return 0;
	if (s->v[from].start < start) {
		if (s->v[from].end > end)
			return split(s, from, start, end);
		s->v[from++].end = start;
	}
	for (to = from; to < s->n && s->v[to].end <= end && !err; to++)
		err = leave_region(m->process, s->v[to].region);
	if (to < s->n && s->v[to].start < end) {
		s->v[to].offset += end - s->v[to].start;
		s->v[to].start = end;
	}
	memmove(s->v + from, s->v + to, (s->n - to) * sizeof(*s->v));
	s->n -= to - from;
	return err;
}

int sync_maps_inherit(struct sync_maps *to, const struct sync_maps *from)
{
	u32 i;

	*to = (struct sync_maps){ .n = from->n, .room = from->n };
	if (!from->n)
		return 0;
	to->v = malloc(from->n * sizeof(*to->v));
	if (!to->v)
		return sync_no_memory();
	memcpy(to->v, from->v, from->n * sizeof(*to->v));
	for (i = 0; i < to->n; i++)
		if (to->v[i].region)
			to->v[i].region->maps++;
	return 0;
}

/*
 * Add all mappings to @m before removing the inherited ones from @p, so that no region becomes
 * unused in between. The child's count of anonymous mappings starts at 0: it is kept per image.
 */
int sync_maps_take(struct sync_image *m, struct sync_maps *from, struct sync_process *p)
{
	struct sync_map one;
	int err = 0;
	u32 i;

	for (i = 0; i < from->n && !err; i++) {
		one = from->v[i];
		err = map(m, &one);
	}
	for (i = 0; i < from->n && !err; i++)
		err = leave_region(p, from->v[i].region);
	sync_maps_free(from);
	*from = (struct sync_maps){ 0 };
	return err;
}

void sync_maps_free(struct sync_maps *s)
{
	free(s->v);
	free(s->was);
	sync_index_free(&s->was_index);
}

int sync_maps_gone(struct sync_image *m)
{
	return cut(m, 0, ~0ull);
}

/* ---- system calls that change mappings ---- */

static u64 page_up(u64 n)
{
	return (n + PAGE - 1) & ~(u64)(PAGE - 1);
}

/*
 * Replace the mappings at the addresses of @new by @new, and remove those at @gone, from where
 * mremap() moved it. A region whose only mapping moves stays in use meanwhile, so its accesses are
 * not forgotten.
 */
static int replace(struct sync_image *m, struct sync_map *new, u64 gone, u64 gone_size)
{
	struct sync_region *r = m->grouped ? find_region(&m->process->regions, &new->key) : NULL;
	int err;

	if (r)
		r->maps++;
	err = cut(m, gone, gone + gone_size);
	if (!err)
		err = cut(m, new->start, new->end);
	if (!err)
		err = map(m, new);
	return err || !r ? err : leave_region(m->process, r);
}

static int mapped(struct sync_thread *t, const struct adept_ev_syscall *c)
{
	struct sync_image *m = t->image;
	bool anonymous = c->args[3] & MAP_ANONYMOUS;
	struct sync_map new = {
		.start = c->result, .end = c->result + page_up(c->args[1]),
		.writes = c->args[2] & PROT_WRITE,
	};

	if ((c->args[3] & MAP_TYPE) == MAP_PRIVATE || (!anonymous && !t->has_shared))
		return cut(m, new.start, new.end);
	if (anonymous) {
		new.key = (struct sync_key){ SYNC_ANONYMOUS, m->serial, ++m->maps.anonymous };
	} else {
		new.key = (struct sync_key){ t->shared.dev, t->shared.inode, 0 };
		new.offset = c->args[5];
	}
	return replace(m, &new, 0, 0);
}

static int attached(struct sync_thread *t, const struct adept_ev_syscall *c)
{
	struct sync_map new = {
		.key = { t->shared.dev, t->shared.inode, 0 },
		.start = c->result, .end = c->result + page_up(t->shared.size),
		.writes = !(c->args[2] & 010000),	/* SHM_RDONLY */
	};

	return t->has_shared ? replace(t->image, &new, 0, 0) : 0;
}

/* Unmap all parts of the System V segment that was attached at @start. */
static int detached(struct sync_image *m, u64 start)
{
	const struct sync_map *v;
	u32 i = m->maps.n;
	int err = 0;

	while (i-- && !err) {
		v = &m->maps.v[i];
		if (v->start - v->offset == start && v->key.dev == ADEPT_SHARED_SYSV)
			err = cut(m, v->start, v->end);
	}
	return err;
}

static int moved(struct sync_image *m, const struct adept_ev_syscall *c)
{
	u64 old = c->args[0], size = page_up(c->args[1]);
	u32 i = first_behind(&m->maps, old);
	struct sync_map new;
	int err;

	/* MREMAP_DONTUNMAP keeps the old mapping; so does an old size of 0. */
	if (c->args[3] & MREMAP_DONTUNMAP)
		size = 0;
	if (i == m->maps.n || m->maps.v[i].start > old) {
		err = cut(m, old, old + size);
		return err ? err : cut(m, c->result, c->result + page_up(c->args[2]));
	}
	new = m->maps.v[i];
	new.offset += old - new.start;
	new.start = c->result;
	new.end = c->result + page_up(c->args[2]);
	return replace(m, &new, old, size);
}

static int protected(struct sync_image *m, const struct adept_ev_syscall *c)
{
	u64 start = c->args[0], end = start + page_up(c->args[1]);
	u32 i;
	int err = 0;

	for (i = 0; i < m->maps.n && c->args[2] & PROT_WRITE && !err; i++) {
		if (m->maps.v[i].start >= end || m->maps.v[i].end <= start)
			continue;
		m->maps.v[i].writes = true;
		err = note(m, &m->maps.v[i]);
	}
	return err;
}

int sync_maps_call(struct sync_thread *t, const struct adept_ev_syscall *c)
{
	/* Give the detector the accesses so far before the mappings change. */
	int err = t->image->grouped ? sync_flush(t) : 0;

	if (err)
		return err;
	switch (c->nr) {
	case SYS_mmap:
		err = mapped(t, c);
		break;
	case SYS_munmap:
		err = cut(t->image, c->args[0], c->args[0] + page_up(c->args[1]));
		break;
	case SYS_mremap:
		err = moved(t->image, c);
		break;
	case SYS_mprotect:
	case SYS_pkey_mprotect:
		err = protected(t->image, c);
		break;
	case SYS_shmat:
		err = attached(t, c);
		break;
	case SYS_shmdt:
		err = detached(t->image, c->args[0]);
		break;
	}
	t->has_shared = false;
	return err;
}

/* ---- addresses in the image and in the detector ---- */

u64 sync_place(const struct sync_image *m, u64 address, u64 *left)
{
	const struct sync_map *v = m->maps.v;
	u64 next = 1ull << SYNC_NUMBER;
	u32 i = m->maps.n ? first_behind(&m->maps, address) : 0;

	if (address >= next)
		return address;
	if (i < m->maps.n && v[i].start <= address) {
		if (left && *left > v[i].end - address)
			*left = v[i].end - address;
		return v[i].region->base + v[i].offset + (address - v[i].start);
	}
	if (i < m->maps.n)
		next = v[i].start;
	if (left && *left > next - address)
		*left = next - address;
	return (u64)m->number << SYNC_NUMBER | address;
}

/* Find the address of @place, a detector address, in the last mapping that contains it. */
static bool find(const struct sync_map *v, u32 n, u64 place, u64 *address)
{
	while (n--) {
		if (!v[n].region || place - v[n].region->base - v[n].offset >=
				    v[n].end - v[n].start)
			continue;
		*address = v[n].start + (place - v[n].region->base - v[n].offset);
		return true;
	}
	return false;
}

u64 sync_address(const struct sync_image *m, u64 place)
{
	u64 address = 0;

	if (!(place & SYNC_SHARED))
		return place & ((1ull << SYNC_NUMBER) - 1);
	return find(m->maps.v, m->maps.n, place, &address) ||
	       find(m->maps.was, m->maps.nwas, place, &address) ? address : 0;
}

u64 sync_address_of(const struct sync_image *m, u64 place)
{
	place &= ~(SYNC_DESCRIPTORS | SYNC_OBJECTS);
	return m->grouped ? sync_address(m, place) : place;
}
