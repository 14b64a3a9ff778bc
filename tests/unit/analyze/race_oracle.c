// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "race_oracle.h"

struct access {
	u32 thread, flags;
	u64 pc;
	u64 clock[ORACLE_THREADS];
};

struct byte {
	u32 *access;		/* indices of the thread's events, in program order */
	u32 n, room;
};

struct oracle {
	u64 base;
	bool shb;
	u32 nthreads;
	u64 clock[ORACLE_THREADS][ORACLE_THREADS];
	u64 sync[ORACLE_SYNCS][ORACLE_THREADS];
	struct access *access;
	u32 n, room;
	struct byte byte[ORACLE_BYTES];
	struct oracle_pair *pair;
	size_t npairs, pair_room;
	u64 edges;
};

static void *grow(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p)
		abort();
	return p;
}

struct oracle *oracle_new(u64 base, bool shb)
{
	struct oracle *o = calloc(1, sizeof(*o));

	if (!o)
		abort();
	o->base = base;
	o->shb = shb;
	return o;
}

void oracle_free(struct oracle *o)
{
	u32 i;

	for (i = 0; i < ORACLE_BYTES; i++)
		free(o->byte[i].access);
	free(o->access);
	free(o->pair);
	free(o);
}

static void join(u64 *a, const u64 *b)
{
	u32 i;

	for (i = 0; i < ORACLE_THREADS; i++)
		if (a[i] < b[i])
			a[i] = b[i];
}

u32 oracle_begin(struct oracle *o, u32 parent)
{
	u32 t = o->nthreads++;

	if (parent != RACE_NO_THREAD) {
		o->clock[parent][parent]++;
		join(o->clock[t], o->clock[parent]);
	}
	return t;
}

void oracle_join(struct oracle *o, u32 joiner, u32 joined)
{
	join(o->clock[joiner], o->clock[joined]);
}

void oracle_acquire(struct oracle *o, u32 thread, u32 sync)
{
	join(o->clock[thread], o->sync[sync]);
}

void oracle_release(struct oracle *o, u32 thread, u32 sync, bool store)
{
	o->clock[thread][thread]++;
	if (store)
		memset(o->sync[sync], 0, sizeof(o->sync[sync]));
	join(o->sync[sync], o->clock[thread]);
}

static bool conflict(u32 a, u32 b)
{
	return ((a | b) & RACE_WRITE) && !(a & b & (RACE_ATOMIC | RACE_INSIDE));
}

static bool before(const struct access *a, const u64 *clock)
{
	return a->clock[a->thread] <= clock[a->thread];
}

static void add_pair(struct oracle *o, u32 byte, const struct access *p)
{
	if (o->npairs == o->pair_room) {
		o->pair_room = o->pair_room ? o->pair_room * 2 : 64;
		o->pair = grow(o->pair, o->pair_room * sizeof(*o->pair));
	}
	o->pair[o->npairs++] = (struct oracle_pair){ byte, p->thread, p->flags, p->pc };
}

/* Find the accesses that race with access @a to byte @i, and the access's clock under SHB. */
static void check(struct oracle *o, u32 i, const struct access *a, u64 *after)
{
	struct byte *b = &o->byte[i];
	const struct access *p;
	bool last = true;
	u32 j;

	for (j = b->n; j--;) {
		p = &o->access[b->access[j]];
		if (conflict(p->flags, a->flags) && !before(p, a->clock)) {
			add_pair(o, i, p);
			if (last && o->shb && p->flags & RACE_WRITE && a->flags & RACE_READ) {
				join(after, p->clock);
				o->edges++;
			}
		}
		last &= !(p->flags & RACE_WRITE);
	}
	if (b->n == b->room) {
		b->room = b->room ? b->room * 2 : 8;
		b->access = grow(b->access, b->room * sizeof(*b->access));
	}
	b->access[b->n++] = a - o->access;
}

size_t oracle_access(struct oracle *o, u32 thread, u64 pc, u64 address, u32 size, u32 flags)
{
	u64 after[ORACLE_THREADS];
	struct access *a;
	u32 i;

	if (o->n == o->room) {
		o->room = o->room ? o->room * 2 : 256;
		o->access = grow(o->access, o->room * sizeof(*o->access));
	}
	if (flags & RACE_FREE)
		flags |= RACE_WRITE;
	a = &o->access[o->n++];
	o->clock[thread][thread]++;
	a->thread = thread;
	a->flags = flags;
	a->pc = pc;
	memcpy(a->clock, o->clock[thread], sizeof(a->clock));
	memcpy(after, a->clock, sizeof(after));
	o->npairs = 0;
	for (i = address - o->base; i < address - o->base + size; i++)
		check(o, i, a, after);
	memcpy(o->clock[thread], after, sizeof(after));
	return o->npairs;
}

const struct oracle_pair *oracle_pairs(const struct oracle *o)
{
	return o->pair;
}

u64 oracle_edges(const struct oracle *o)
{
	return o->edges;
}

void oracle_forget(struct oracle *o, u64 address, u64 size)
{
	u64 i;

	for (i = address - o->base; i < address - o->base + size; i++)
		o->byte[i].n = 0;
}
