// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Code cache arenas.  One near the libraries and one near the program come from
 * the injector; further ones are made near code that neither reaches.  An arena is
 * filled from below and begins with jumps to the blob's gates.
 */
#include "frag.h"

#define ARENA_SIZE	(64u << 20)
#define MAX_ARENAS	32
#define REACH		0x7f000000ll

struct arena {
	u64 base, size;
	u32 used;
	u32 nfrags, frags_cap;
	struct frag **frags;	/* in address order; NULL entries for veneers are not kept */
};

static struct arena arenas[MAX_ARENAS];
static u32 narenas;

extern void gate_exit(void);
extern void gate_syscall(void);
extern void gate_miss(void);
extern void gate_miss_call(void);
extern void gate_trap(void);

#define GATE_LEN	16

static void write_gate(u8 *at, void (*gate)(void))
{
	static const u8 jmp[8] = { 0xff, 0x25, 0x02, 0, 0, 0, 0x90, 0x90 };
	u64 addr = (u64)gate;

	memcpy(at, jmp, 8);
	memcpy(at + 8, &addr, 8);
}

static struct arena *arena_add(u64 base, u64 size)
{
	struct arena *a;

	if (narenas == MAX_ARENAS)
		return NULL;
	a = &arenas[narenas];
	a->base = base;
	a->size = size;
	write_gate((u8 *)base + GATE_EXIT * GATE_LEN, gate_exit);
	write_gate((u8 *)base + GATE_SYSCALL * GATE_LEN, gate_syscall);
	write_gate((u8 *)base + GATE_MISS * GATE_LEN, gate_miss);
	write_gate((u8 *)base + GATE_MISS_CALL * GATE_LEN, gate_miss_call);
	write_gate((u8 *)base + GATE_TRAP * GATE_LEN, gate_trap);
	a->used = NGATES * GATE_LEN;
	__atomic_store_n(&narenas, narenas + 1, __ATOMIC_RELEASE);
	return a;
}

void arena_init(void)
{
	for (int i = 0; i < 2; i++)
		if (boot.arena_size[i])
			arena_add(boot.arena[i], boot.arena_size[i]);
}

static int reaches(const struct arena *a, u64 pc)
{
	s64 low = (s64)(pc - a->base), high = (s64)(pc - (a->base + a->size));

	return low < REACH && low > -REACH && high < REACH && high > -REACH;
}

static struct arena *arena_map_near(u64 pc)
{
	for (u64 off = ARENA_SIZE; off < REACH; off += ARENA_SIZE) {
		for (int side = 0; side < 2; side++) {
			u64 at = (side ? pc + off : pc - off - ARENA_SIZE) & ~(u64)0xffff;
			s64 got;

			if (at < 0x10000 || at > 0x7ffffffff000ull - ARENA_SIZE)
				continue;
			got = sys6(__NR_mmap, at, ARENA_SIZE,
				   K_PROT_READ | K_PROT_WRITE | K_PROT_EXEC,
				   K_MAP_PRIVATE | K_MAP_ANON | K_MAP_NORESERVE |
				   K_MAP_FIXED_NOREPLACE, (u64)-1, 0);
			if (got == (s64)at)
				return arena_add(at, ARENA_SIZE);
			if (got > 0)
				sys2(__NR_munmap, (u64)got, ARENA_SIZE);
		}
	}
	return NULL;
}

#define ROOM	(64u << 10)	/* no fragment is larger */

struct arena *arena_for(u64 pc)
{
	struct arena *any = NULL, *a;

	for (u32 i = 0; i < narenas; i++) {
		a = &arenas[i];
		if (a->size - a->used < ROOM)
			continue;
		if (reaches(a, pc))
			return a;
		any = a;
	}
	a = arena_map_near(pc);
	if (!a)
		a = any;
	if (!a)
		fatal("no room for translated code near %lx", pc);
	return a;
}

u8 *arena_room(struct arena *a, u32 n)
{
	if (a->size - a->used < n)
		return NULL;
	return (u8 *)a->base + a->used;
}

void arena_commit(struct arena *a, u32 n, struct frag *f)
{
	if (f) {
		if (a->nfrags == a->frags_cap) {
			u32 cap = a->frags_cap ? a->frags_cap * 2 : 1024;
			struct frag **bigger = heap_alloc(cap * sizeof(*bigger));

			/* The old array stays for readers in signal handlers. */
			if (a->nfrags)
				memcpy(bigger, a->frags, a->nfrags * sizeof(*bigger));
			__atomic_store_n(&a->frags, bigger, __ATOMIC_RELEASE);
			a->frags_cap = cap;
		}
		a->frags[a->nfrags] = f;
		__atomic_store_n(&a->nfrags, a->nfrags + 1, __ATOMIC_RELEASE);
	}
	a->used += (u32)ALIGN_UP(n, 16);
}

struct arena *arena_of(u64 addr)
{
	u32 n = __atomic_load_n(&narenas, __ATOMIC_ACQUIRE);

	for (u32 i = 0; i < n; i++)
		if (addr - arenas[i].base < arenas[i].size)
			return &arenas[i];
	return NULL;
}

u8 *arena_gate(struct arena *a, enum gate g)
{
	return (u8 *)a->base + g * GATE_LEN;
}

struct frag *arena_frag(struct arena *a, u64 addr)
{
	u32 lo = 0, hi = __atomic_load_n(&a->nfrags, __ATOMIC_ACQUIRE);
	struct frag **v = __atomic_load_n(&a->frags, __ATOMIC_ACQUIRE);

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if ((u64)v[mid]->start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || addr >= (u64)v[lo - 1]->start + v[lo - 1]->cache_len)
		return NULL;
	return v[lo - 1];
}
