// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Arenas of the code cache.  The injector maps an arena near the libraries and one near the
 * program.  The engine maps further arenas near code that is out of reach of both.
 *
 * An arena has two parts, both filled from low to high addresses.  The hot part has the code that
 * runs often, close together.  The cold part has code that rarely runs (exit stubs, jumps between
 * landing stubs) and literals; it begins with jumps to the engine's gates.
 */
#include "code_cache.h"
#include "libdep/engine/base/prefault.h"
#include "libdep/engine/base/rlimit.h"

#define ARENA_MIN	(4u << 20)
#define REACH		0x7f000000ll
#define BLOCK		16384u
#define MAX_BLOCKS	128u
#define SPARE_FRAGS	1024u
#define HUGE_PAGE	(2ull << 20)

struct arena {
	u64 base, size;
	u64 hot, cold;		/* first free address of the hot and of the cold part */
	u64 hot_ready, cold_ready;	/* pages below these addresses are populated */
	u8 *ret_path;		/* shared return path (returns.c); NULL until it is built */
	u32 nfrags;
	u8 huge;
	/* fragments in the order of their addresses, in blocks of BLOCK heap references */
	u32 *frags[MAX_BLOCKS];
};

static struct arena arenas[MAX_ARENAS];
static u32 narenas;

extern void gate_exit(void);
extern void gate_syscall(void);
extern void gate_trap(void);

#define GATE_LEN	16

static u64 cold_base(const struct arena *a)
{
	return a->base + a->size / 8 * 5;
}

/* Populate pages for the next fragment. */
static void prefault_parts(struct arena *a)
{
	prefault_ahead(&a->hot_ready, a->hot, a->hot + ADEPT_PAGE, cold_base(a));
	prefault_ahead(&a->cold_ready, a->cold, a->cold + ADEPT_PAGE, a->base + a->size);
}

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
	a->hot = base;
	a->cold = cold_base(a);
	prefault_parts(a);
	a->cold += NGATES * GATE_LEN;
	write_gate(arena_gate(a, GATE_EXIT), gate_exit);
	write_gate(arena_gate(a, GATE_SYSCALL), gate_syscall);
	write_gate(arena_gate(a, GATE_TRAP), gate_trap);
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

/*
 * Map memory for a new arena at @at, if this range is free.  Map it without access first: after
 * mlockall(MCL_FUTURE) an accessible mapping would be populated at once.
 */
static int arena_map(u64 at, u64 size)
{
	s64 got = sys6(__NR_mmap, at, size, K_PROT_NONE,
		       K_MAP_PRIVATE | K_MAP_ANON | K_MAP_NORESERVE | K_MAP_FIXED_NOREPLACE,
		       (u64)-1, 0);

	if (got < 0)
		return 0;
	if (got != (s64)at)
		goto unmap;
	sys2(__NR_munlock, at, size);
	/*
	 * Exclude the arena from core dumps, as the injector does with the first arenas
	 * (inject/memory_layout.c).
	 */
	sys3(__NR_madvise, at, size, K_MADV_DONTDUMP);
	if (!sys3(__NR_mprotect, at, size, K_PROT_READ | K_PROT_WRITE | K_PROT_EXEC))
		return 1;
unmap:
	sys2(__NR_munmap, (u64)got, size);
	return 0;
}

static struct arena *arena_map_of(u64 pc, u64 size)
{
	for (u64 off = ARENA_SIZE; off < REACH; off += ARENA_SIZE) {
		for (int side = 0; side < 2; side++) {
			u64 at = (side ? pc + off : pc - off - ARENA_SIZE) & ~(u64)0xffff;

			if (at < 0x10000 || at > 0x7ffffffff000ull - ARENA_SIZE)
				continue;
			if (arena_map(at, size))
				return arena_add(at, size);
		}
	}
	return NULL;
}

/* Map an arena near @pc, or a smaller one if there is not enough memory. */
static struct arena *arena_map_near(u64 pc)
{
	struct arena *a = NULL;

	if (narenas == MAX_ARENAS)
		return NULL;
	rlimit_grow(ARENA_SIZE, ARENA_SIZE);
	for (u64 size = ARENA_SIZE; !a && size >= ARENA_MIN; size /= 4)
		a = arena_map_of(pc, size);
	/* Undo rlimit_grow() for the part that was not mapped. */
	if (!a || a->size < ARENA_SIZE)
		rlimit_shrink(ARENA_SIZE - (a ? a->size : 0));
	return a;
}

static int has_room(const struct arena *a)
{
	return cold_base(a) - a->hot >= ARENA_ROOM && a->base + a->size - a->cold >= ARENA_ROOM &&
	       a->nfrags < BLOCK * MAX_BLOCKS - SPARE_FRAGS;
}

struct arena *arena_for(u64 pc)
{
	struct arena *any = NULL, *a;

	for (u32 i = 0; i < narenas; i++) {
		a = &arenas[i];
		if (!has_room(a))
			continue;
		if (reaches(a, pc))
			return a;
		any = a;
	}
	a = arena_map_near(pc);
	if (!a)
		a = any;
	/*
	 * 32 arenas are full, or the machine has no 4 MiB of memory left.  The program cannot
	 * continue natively, since threads, signal handlers and r15 depend on the engine.
	 */
	if (!a)
		fatal("cannot allocate memory for the translation of code at %lx", pc);
	return a;
}

u8 *arena_hot(const struct arena *a)
{
	return (u8 *)a->hot;
}

u8 *arena_cold(const struct arena *a)
{
	return (u8 *)a->cold;
}

u8 *arena_take_cold(struct arena *a, u32 n, int must)
{
	u8 *p = (u8 *)a->cold;

	if (a->base + a->size - a->cold < n + (must ? 0 : ARENA_ROOM / 2))
		return NULL;
	a->cold += n;
	return p;
}

/*
 * Translated code is less dense than the original, so huge pages save instruction TLB entries of
 * large programs.  In a small program most of a huge page would be unused.
 */
static void want_huge_pages(struct arena *a)
{
	a->huge = 1;
	sys3(__NR_madvise, a->base, cold_base(a) - a->base, K_MADV_HUGEPAGE);
	/*
	 * Collapse the present pages to a huge page now; a kernel without MADV_COLLAPSE may do so
	 * later.
	 */
	if (!(a->base & (HUGE_PAGE - 1)))
		sys3(__NR_madvise, a->base, HUGE_PAGE, K_MADV_COLLAPSE);
}

void arena_commit(struct arena *a, struct frag *f)
{
	u32 **block = &a->frags[a->nfrags / BLOCK];

	/*
	 * The blocks of references are never moved, because signal handlers read them without a
	 * lock.
	 */
	if (!*block)
		*block = heap_alloc(BLOCK * sizeof(**block));
	(*block)[a->nfrags % BLOCK] = heap_ref(f);
	__atomic_store_n(&a->nfrags, a->nfrags + 1, __ATOMIC_RELEASE);
	a->hot = (u64)f->start + f->hot_len;
	a->cold = ALIGN_UP((u64)f->cold + f->cold_len, 8);
	prefault_parts(a);
	if (!a->huge && a->hot - a->base >= HUGE_PAGE / 2)
		want_huge_pages(a);
}

struct arena *arena_of(u64 addr)
{
	u32 n = __atomic_load_n(&narenas, __ATOMIC_ACQUIRE);

	for (u32 i = 0; i < n; i++)
		if (addr - arenas[i].base < arenas[i].size)
			return &arenas[i];
	return NULL;
}

u64 arena_first(u64 start, u64 end)
{
	u32 n = __atomic_load_n(&narenas, __ATOMIC_ACQUIRE);
	u64 first = end;

	for (u32 i = 0; i < n; i++) {
		u64 base = arenas[i].base;

		if (start < base + arenas[i].size && first > base)
			first = base > start ? base : start;
	}
	return first;
}

int arena_nth(u32 i, u64 *base, u64 *size)
{
	if (i >= __atomic_load_n(&narenas, __ATOMIC_ACQUIRE))
		return 0;
	*base = arenas[i].base;
	*size = arenas[i].size;
	return 1;
}

u8 *arena_gate(const struct arena *a, enum gate g)
{
	return (u8 *)cold_base(a) + g * GATE_LEN;
}

u8 **arena_ret_path(struct arena *a)
{
	return &a->ret_path;
}

static struct frag *nth(const struct arena *a, u32 i)
{
	return heap_at(a->frags[i / BLOCK][i % BLOCK]);
}

/*
 * Find the fragment that contains @addr by binary search: in both parts fragments are in the order
 * in which they were committed.
 */
struct frag *arena_frag(struct arena *a, u64 addr)
{
	u32 lo = 0, hi = __atomic_load_n(&a->nfrags, __ATOMIC_ACQUIRE);
	int cold = addr >= cold_base(a);
	struct frag *f;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		f = nth(a, mid);
		if ((u64)(cold ? f->cold : f->start) <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return NULL;
	f = nth(a, lo - 1);
	if (cold ? addr >= (u64)f->cold + f->cold_len : addr >= (u64)f->start + f->hot_len)
		return NULL;
	return f;
}
