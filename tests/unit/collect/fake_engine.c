// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The recorded side's protocol: claim slots, fill chunks, publish, describe.
 */
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fake_engine.h"

static void futex(u32 *word, int op, u32 value)
{
	struct timespec t = { .tv_sec = 1 };

	syscall(SYS_futex, word, op, value, op == FUTEX_WAIT ? &t : NULL, NULL, 0);
}

static u64 now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static bool claim(u32 *state)
{
	u32 expect = ADEPT_SLOT_FREE;

	return __atomic_compare_exchange_n(state, &expect, ADEPT_SLOT_CLAIMED, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static u32 serial(struct dep_session *s)
{
	return __atomic_fetch_add(&s->map->next_serial, 1, __ATOMIC_RELAXED);
}

void fake_ring_doorbell(struct dep_session *s)
{
	__atomic_fetch_add(&s->map->wakeup, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->map->collector_waits, __ATOMIC_SEQ_CST))
		futex(&s->map->wakeup, FUTEX_WAKE, 1);
}

int fake_process_begin(struct fake_process *p, struct dep_session *s, u32 parent)
{
	struct adept_proc *sh;
	u32 i;

	memset(p, 0, sizeof(*p));
	for (i = 0; i < s->layout.nprocs; i++)
		if (adept_claim_proc(s->map, &s->layout, dep_session_proc(s, i), i, 0))
			break;
	if (i == s->layout.nprocs)
		return -1;
	p->s = s;
	p->slot = i;
	sh = dep_session_proc(s, i);
	sh->serial = serial(s);
	sh->pid = getpid();
	sh->parent_serial = parent;
	sh->start_ns = now();
	__atomic_store_n(&sh->state, ADEPT_SLOT_LIVE, __ATOMIC_RELEASE);
	fake_ring_doorbell(s);
	return 0;
}

static void wait_for_space(struct fake_process *p, u64 need)
{
	struct adept_proc *sh = dep_session_proc(p->s, p->slot);
	u32 seen;

	for (;;) {
		seen = __atomic_load_n(&sh->desc_space, __ATOMIC_SEQ_CST);
		if (sh->desc_head + need - __atomic_load_n(&sh->desc_tail, __ATOMIC_SEQ_CST) <=
		    p->s->layout.desc_size || p->s->map->abandoned)
			return;
		fake_ring_doorbell(p->s);
		__atomic_store_n(&sh->desc_waits, 1, __ATOMIC_SEQ_CST);
		futex(&sh->desc_space, FUTEX_WAIT, seen);
		__atomic_store_n(&sh->desc_waits, 0, __ATOMIC_SEQ_CST);
	}
}

void fake_describe(struct fake_process *p, u32 size)
{
	struct adept_proc *sh = dep_session_proc(p->s, p->slot);
	u64 ring = p->s->layout.desc_size, at;
	struct adept_desc_frag *d;
	struct adept_desc pad = { 0 };

	while (__atomic_exchange_n(&p->lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
	at = sh->desc_head % ring;
	if (at + size > ring) {
		wait_for_space(p, ring - at);
		pad.size = ring - at;
		memcpy(dep_session_desc(p->s, p->slot) + at, &pad, sizeof(pad));
		__atomic_store_n(&sh->desc_head, sh->desc_head + ring - at, __ATOMIC_RELEASE);
		at = 0;
	}
	wait_for_space(p, size);
	d = (void *)(dep_session_desc(p->s, p->slot) + at);
	memset(d, 0, size);
	d->h.size = size;
	d->h.type = ADEPT_DESC_FRAGMENT;
	d->first_exit = __atomic_fetch_add(&p->s->map->next_exit, 1, __ATOMIC_RELAXED);
	d->nexits = 1;
	p->id = d->first_exit;
	__atomic_store_n(&sh->desc_head, sh->desc_head + size, __ATOMIC_RELEASE);
	__atomic_store_n(&p->lock, 0, __ATOMIC_RELEASE);
}

/* A published chunk may still be read. */
static void begin_scratch(struct fake_thread *t)
{
	t->base = t->at = calloc(1, t->p->s->layout.chunk_size);
	if (!t->base)
		abort();
	t->end = t->base + t->p->s->layout.chunk_size;
}

static void begin_chunk(struct fake_thread *t)
{
	struct dep_session *s = t->p->s;
	struct adept_thread *sh = dep_session_thread(s, t->slot);
	u32 i = sh->head % s->layout.nchunks, tail;
	struct adept_chunk *k = &sh->chunk[i];

	for (;;) {
		tail = __atomic_load_n(&sh->tail, __ATOMIC_SEQ_CST);
		if (sh->head - tail < s->layout.nchunks)
			break;
		if (s->map->abandoned || s->map->stop) {
			begin_scratch(t);
			return;
		}
		__atomic_store_n(&sh->tail_waits, 1, __ATOMIC_SEQ_CST);
		futex(&sh->tail, FUTEX_WAIT, tail);
		__atomic_store_n(&sh->tail_waits, 0, __ATOMIC_SEQ_CST);
	}
	k->seq = t->seq++;
	k->fill = 0;
	k->tail_at = 0;
	k->dropped_chunks = t->dropped_chunks;
	k->dropped_bytes = t->dropped_bytes;
	k->start_ns = now();
	t->base = t->at = dep_session_chunk(s, t->slot, i);
	t->end = t->at + s->layout.chunk_size;
	/* The collector returns zeroed chunks. */
	if (*(u64 *)t->at || *(u64 *)(t->end - 8)) {
		if (!s->map->abandoned && !s->map->stop)
			abort();
		memset(t->at, 0, s->layout.chunk_size);
	}
}

int fake_thread_begin(struct fake_thread *t, struct fake_process *p)
{
	struct dep_session *s = p->s;
	struct adept_thread *sh = NULL;
	u64 *progress = t->progress;
	u32 i;

	memset(t, 0, sizeof(*t));
	t->progress = progress;
	for (i = 0; i < s->layout.nthreads; i++) {
		sh = dep_session_thread(s, i);
		if (claim(&sh->state))
			break;
	}
	if (i == s->layout.nthreads)
		return -1;
	t->p = p;
	t->slot = i;
	if (sh->head || sh->tail || sh->serial || sh->null_bytes || sh->chunk[0].seq)
		abort();
	sh->serial = serial(s);
	sh->tid = syscall(SYS_gettid);
	sh->proc = p->slot;
	sh->proc_serial = dep_session_proc(s, p->slot)->serial;
	sh->start_ns = now();
	__atomic_store_n(&sh->state, ADEPT_SLOT_LIVE, __ATOMIC_RELEASE);
	fake_ring_doorbell(s);
	begin_chunk(t);
	return 0;
}

/* Only under ADEPT_S_DROP: there is no free chunk, so begin this one again. */
static bool drop(struct fake_thread *t, u32 fill)
{
	struct dep_session *s = t->p->s;
	struct adept_thread *sh = dep_session_thread(s, t->slot);
	bool lost = s->map->stop || s->map->abandoned || s->layout.flags & ADEPT_S_NULL;
	struct adept_chunk *k = &sh->chunk[sh->head % s->layout.nchunks];

	if (lost) {
		sh->null_bytes += fill;
		__atomic_store_n(&sh->discarding, 1, __ATOMIC_RELEASE);
	} else if (s->layout.flags & ADEPT_S_DROP &&
		   sh->head + 1 - __atomic_load_n(&sh->tail, __ATOMIC_SEQ_CST) >=
		   s->layout.nchunks) {
		t->dropped_chunks++;
		t->dropped_bytes += fill;
		k->dropped_chunks = t->dropped_chunks;
		k->dropped_bytes = t->dropped_bytes;
	} else {
		return false;
	}
	t->at = t->base;
	memset(t->at, 0, fill);
	k->seq = t->seq++;
	return true;
}

void fake_publish(struct fake_thread *t)
{
	struct dep_session *s = t->p->s;
	struct adept_thread *sh = dep_session_thread(s, t->slot);
	u32 i = sh->head % s->layout.nchunks;
	struct adept_chunk *k = &sh->chunk[i];
	u32 fill = t->at - t->base;

	sh->flushes++;
	if (drop(t, fill))
		return;
	k->fill = fill;
	k->tail_at = fill;
	__atomic_store_n(&sh->head, sh->head + 1, __ATOMIC_RELEASE);
	fake_ring_doorbell(s);
	begin_chunk(t);
}

void fake_record(struct fake_thread *t)
{
	if (t->at + FAKE_RECORD > t->end)
		fake_publish(t);
	memcpy(t->at + 4, &t->count, 8);
	__atomic_store_n((u32 *)t->at, __atomic_load_n(&t->p->id, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
	t->at += FAKE_RECORD;
	t->count++;
	if (t->progress)
		__atomic_store_n(t->progress, t->count, __ATOMIC_RELEASE);
}

void fake_thread_end(struct fake_thread *t)
{
	struct dep_session *s = t->p->s;
	struct adept_thread *sh = dep_session_thread(s, t->slot);
	u32 i = sh->head % s->layout.nchunks;
	struct adept_chunk *k = &sh->chunk[i];
	u32 fill = t->at - t->base;

	if (s->map->stop || s->layout.flags & ADEPT_S_NULL) {
		sh->null_bytes += fill;
		__atomic_store_n(&sh->discarding, 1, __ATOMIC_RELEASE);
	} else {
		k->fill = fill;
		k->tail_at = fill;
		__atomic_store_n(&sh->head, sh->head + 1, __ATOMIC_RELEASE);
	}
	sh->at_safepoint = 1;
	__atomic_store_n(&sh->state, ADEPT_SLOT_ENDED, __ATOMIC_RELEASE);
	fake_ring_doorbell(s);
}

void fake_scribble(struct dep_session *s, unsigned int *r)
{
	u64 tables = s->layout.desc_off, at;
	u8 *base = (u8 *)s->map;
	u32 v;
	int i;

	for (i = 0; i < 200; i++) {
		/* Usually a low slot, since the collector checks these closely. */
		switch (rand_r(r) % 4) {
		case 0:
			at = rand_r(r) % tables;
			break;
		case 1:
			at = s->layout.proc_off + rand_r(r) % (4 * sizeof(struct adept_proc));
			break;
		case 2:
			at = s->layout.thread_off + rand_r(r) % (4 * sizeof(struct adept_thread));
			break;
		default:
			at = s->layout.desc_off + rand_r(r) % 4096;
			break;
		}
		at &= ~3ull;
		v = rand_r(r) % 3 ? (u32)rand_r(r) % 20 : (u32)rand_r(r) * 2654435761u;
		__atomic_store_n((u32 *)(base + at), v, __ATOMIC_RELAXED);
	}
	fake_ring_doorbell(s);
}
