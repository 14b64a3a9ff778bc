// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "feed.h"

#define PAGE	4096u

/* ---- regions ---- */

/* NULL: no memory, or no number is left. */
static struct order_region *region_of(struct order_process *p, const struct order_key *key)
{
	struct order_region *r = p->regions;

	while (r && !order_key_same(&r->key, key))
		r = r->next;
	if (r || p->nregions == ORDER_REGIONS)
		return r;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->key = *key;
	r->base = ORDER_SHARED | (u64)p->nregions++ << ORDER_REGION;
	r->next = p->regions;
	return p->regions = r;
}

/* What nobody has any more is new to who maps it next: another file may have its number. */
static int leave_region(struct order_process *p, struct order_region *r)
{
	if (!r || --r->maps)
		return 0;
	return race_forget(p->detector, r->base, 1ull << ORDER_REGION);
}

void order_regions_free(struct order_process *p)
{
	struct order_region *r;

	while ((r = p->regions)) {
		p->regions = r->next;
		free(r);
	}
}

/* ---- maps ---- */

static int append(struct order_map **v, u32 *n, u32 *room, const struct order_map *map)
{
	u32 want = *room ? 2 * *room : 8;
	void *more;

	if (*n == *room) {
		more = realloc(*v, want * sizeof(**v));
		if (!more)
			return order_no_memory();
		*v = more;
		*room = want;
	}
	(*v)[(*n)++] = *map;
	return 0;
}

static int add(struct order_image *m, const struct order_map *map)
{
	int err = append(&m->maps.v, &m->maps.n, &m->maps.room, map);

	if (!err && map->region)
		map->region->maps++;
	return err;
}

/* So that it can be said later where something was. */
static int remember(struct order_maps *s, const struct order_map *map)
{
	const struct order_map *w;
	u32 i;

	for (i = 0; i < s->nwas; i++) {
		w = &s->was[i];
		if (w->region == map->region && w->start == map->start && w->end == map->end &&
		    w->offset == map->offset)
			return 0;
	}
	return append(&s->was, &s->nwas, &s->was_room, map);
}

/* It is noted in any pass, but counts in the first one only. */
static int note(const struct order_image *m, const struct order_map *map)
{
	struct order_share share = {
		.key = map->key, .image = m->serial, .writes = map->writes, .at = map->start,
	};

	return m->feed->shares && !m->grouped ? order_shares_note(m->feed->shares, &share) : 0;
}

static int map(struct order_image *m, struct order_map *map)
{
	int err;

	if (map->end <= map->start || map->end >> ORDER_NUMBER)
		return 0;
	map->region = NULL;
	if (m->grouped && map->offset >> ORDER_REGION == 0 &&
	    (map->offset + (map->end - map->start)) >> ORDER_REGION == 0)
		map->region = region_of(m->process, &map->key);
	err = note(m, map);
	if (!err && map->region)
		err = remember(&m->maps, map);
	return err ? err : add(m, map);
}

/* Nothing of @start to @end is mapped any more. */
static int cut(struct order_image *m, u64 start, u64 end)
{
	struct order_maps *s = &m->maps;
	struct order_map old, part;
	u32 i;
	int err = 0;

	/* One that wraps, as damaged stores have them, would leave two of each. */
	if (end <= start)
		return 0;
	for (i = s->n; i-- && !err;) {
		old = s->v[i];
		if (old.start >= end || old.end <= start)
			continue;
		s->v[i] = s->v[--s->n];
		part = old;
		part.end = start;
		if (old.start < start)
			err = add(m, &part);
		part = old;
		part.start = end;
		part.offset += end - old.start;
		if (!err && old.end > end)
			err = add(m, &part);
		if (!err)
			err = leave_region(m->process, old.region);
	}
	return err;
}

int order_maps_inherit(struct order_maps *to, const struct order_maps *from)
{
	*to = (struct order_maps){ .n = from->n, .room = from->n };
	if (!from->n)
		return 0;
	to->v = malloc(from->n * sizeof(*to->v));
	if (!to->v)
		return order_no_memory();
	memcpy(to->v, from->v, from->n * sizeof(*to->v));
	return 0;
}

int order_maps_own(struct order_image *m)
{
	struct order_maps old = m->maps;
	int err = 0;
	u32 i;

	m->maps = (struct order_maps){ .anonymous = old.anonymous };
	for (i = 0; i < old.n && !err; i++)
		err = map(m, &old.v[i]);
	free(old.v);
	return err;
}

int order_maps_gone(struct order_image *m)
{
	return cut(m, 0, ~0ull);
}

/* ---- calls ---- */

static u64 page_up(u64 n)
{
	return (n + PAGE - 1) & ~(u64)(PAGE - 1);
}

static int mapped(struct order_thread *t, const struct adept_ev_syscall *c)
{
	struct order_image *m = t->image;
	struct order_map new = {
		.start = c->result, .end = c->result + page_up(c->args[1]),
		.writes = c->args[2] & PROT_WRITE,
	};
	int err = cut(m, new.start, new.end);

	if (err || (c->args[3] & MAP_TYPE) == MAP_PRIVATE)
		return err;
	if (c->args[3] & MAP_ANONYMOUS) {
		new.key = (struct order_key){ ORDER_ANONYMOUS, m->serial, ++m->maps.anonymous };
	} else if (t->has_shared) {
		new.key = (struct order_key){ t->shared.dev, t->shared.inode, 0 };
		new.offset = c->args[5];
	} else {
		return 0;
	}
	return map(m, &new);
}

static int attached(struct order_thread *t, const struct adept_ev_syscall *c)
{
	struct order_map new = {
		.key = { t->shared.dev, t->shared.inode, 0 },
		.start = c->result, .end = c->result + page_up(t->shared.size),
		.writes = !(c->args[2] & 010000),	/* SHM_RDONLY */
	};
	int err = t->has_shared ? cut(t->image, new.start, new.end) : 0;

	return err || !t->has_shared ? err : map(t->image, &new);
}

/* The segment that begins there, whatever is left of it. */
static int detached(struct order_image *m, u64 start)
{
	const struct order_map *v = m->maps.v;
	u32 i;

	for (i = 0; i < m->maps.n; i++)
		if (v[i].start - v[i].offset == start && v[i].key.dev == ADEPT_SHARED_SYSV)
			return cut(m, v[i].start, v[i].end);
	return 0;
}

static int moved(struct order_image *m, const struct adept_ev_syscall *c)
{
	u64 old = c->args[0], size = page_up(c->args[2]), by;
	struct order_map new = { 0 };
	int err;
	u32 i;

	for (i = 0; i < m->maps.n && !new.end; i++)
		if (old - m->maps.v[i].start < m->maps.v[i].end - m->maps.v[i].start)
			new = m->maps.v[i];
	by = old - new.start;
	/* Of 0 bytes of shared memory it makes a second mapping. */
	err = cut(m, old, old + page_up(c->args[1]));
	if (!err)
		err = cut(m, c->result, c->result + size);
	if (err || !new.end)
		return err;
	new.offset += by;
	new.start = c->result;
	new.end = c->result + size;
	return map(m, &new);
}

static int protected(struct order_image *m, const struct adept_ev_syscall *c)
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

int order_maps_call(struct order_thread *t, const struct adept_ev_syscall *c)
{
	int err = 0;

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

/* ---- places ---- */

u64 order_place(const struct order_image *m, u64 address, u64 *left)
{
	const struct order_map *v = m->maps.v, *end = v + m->maps.n;
	u64 next = 1ull << ORDER_NUMBER;

	if (address >= next)
		return address;
	for (; v < end; v++) {
		if (!v->region)
			continue;
		if (address - v->start < v->end - v->start) {
			if (left && *left > v->end - address)
				*left = v->end - address;
			return v->region->base + v->offset + (address - v->start);
		}
		if (v->start > address && v->start < next)
			next = v->start;
	}
	if (left && *left > next - address)
		*left = next - address;
	return (u64)m->number << ORDER_NUMBER | address;
}

/* The last one that has it. */
static bool find(const struct order_map *v, u32 n, u64 place, u64 *address)
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

u64 order_address(const struct order_image *m, u64 place)
{
	u64 address = 0;

	if (!(place & ORDER_SHARED))
		return place & ((1ull << ORDER_NUMBER) - 1);
	return find(m->maps.v, m->maps.n, place, &address) ||
	       find(m->maps.was, m->maps.nwas, place, &address) ? address : 0;
}
