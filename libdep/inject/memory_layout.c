// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Layout of the engine's memory.
 *
 *	below 2 GiB       low     branch tables, addressed by absolute disp32
 *	                  arena 1 code cache of a program that is linked there
 *	below the program arena 1 code cache of a position-independent program
 *	ENGINE_BASE       engine image | heap | session
 *	above mmap_base   arena 0 code cache of the libraries
 *	                  (gap that the kernel leaves for the stack)
 *	                  stack
 *
 * The program's own mappings must get the addresses of a native run. The kernel allocates the mmap
 * area downwards from mmap_base, so mappings above mmap_base have no effect on it. With an
 * unlimited stack it allocates upwards, and mappings below the base have no effect.
 *
 * The sanitizers reserve parts of the address space. ENGINE_BASE, below the lowest address of
 * position-independent programs, is ordinary memory for all of them. So is the low region, which
 * must end below 0x7fff8000. ENGINE_SPARE is for sessions that are too large for that place, and
 * works only with ASan.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "internal.h"

#define KIB(x) ((u64)(x) << 10)
#define MIB(x) ((u64)(x) << 20)
#define GIB(x) ((u64)(x) << 30)

#define ENGINE_BASE	0x550000000000ull
#define ENGINE_END	0x555000000000ull
#define ENGINE_SPARE	0x210000000000ull
#define ENGINE_STEP	0x001000000000ull
#define ENGINE_TRIES	16
#define GAP_TRIES	8
#define HEAP_SIZE	GIB(4)
#define ARENAS_SIZE	GIB(2)		/* all code caches at their maximum */
#define DATA_SPARE	GIB(1)		/* left to a program whose RLIMIT_DATA cannot be raised */
#define CAP_SYS_RESOURCE 24
#define HEAP_MIN	MIB(256)

/* Two huge pages and one more page, aligned to a huge page. */
#define LOW_SIZE	(MIB(4) + ADEPT_PAGE)
#define LOW_STEP	MIB(6)
#define LOW_TOP		0x7f800000ull
#define LOW_BOTTOM	0x10000000ull

#define ARENA_SIZE	MIB(64)
#define ARENA_LOW_TOP	0x7b000000ull
#define REACH		(GIB(2) - MIB(2))
#define BRK_ROOM	MIB(256)

/* Start of the bottom-up mmap area, and the range of its randomisation. */
#define LEGACY_BASE	0x2aaaaaaab000ull
#define LEGACY_RANDOM	(1ull << 40)

#define STACK_MIN	MIB(8)
#define STACK_GUARD	MIB(1)
#define STACK_MARGIN	MIB(16)

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define ANON (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

static u64 align_up(u64 x, u64 to)
{
	return (x + to - 1) & ~(to - 1);
}

static bool is_error(s64 ret)
{
	return ret < 0 && ret >= -4095;
}

/*
 * Exclude a mapping from core dumps: the engine reserves gigabytes. The flag is inherited by forked
 * children and by parts that mprotect() splits off. Kernels since 3.4 support it; an error would
 * only make a core larger.
 */
static void keep_out_of_cores(struct dep_plan *p, u64 addr, u64 size)
{
	dep_remote_call(p->r, SYS_madvise, addr, size, MADV_DONTDUMP, 0, 0, 0);
}

/*
 * Children that a running process forks natively before the engine is there must not have its
 * memory.  The engine undoes this when it is there.
 */
static void keep_from_children(struct dep_plan *p, u64 addr, u64 size)
{
	if (p->space->in_use)
		dep_remote_call(p->r, SYS_madvise, addr, size, MADV_DONTFORK, 0, 0, 0);
}

/* Has the process locked any memory?  Then it may lock future mappings, too. */
static bool locks_memory(const struct dep_plan *p)
{
	unsigned long kib = 0;
	char path[32], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", p->r->pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmLck: %lu", &kib);
	if (f)
		fclose(f);
	return kib;
}

/* The engine's memory is not locked, see engine/os/mlock.c. */
static void unlock(struct dep_plan *p, u64 addr, u64 size)
{
	dep_remote_call(p->r, SYS_munlock, addr, size, 0, 0, 0, 0);
}

static int make_accessible(struct dep_plan *p, u64 addr, u64 size, int prot)
{
	return (int)dep_remote_call(p->r, SYS_mprotect, addr, size, (u64)prot, 0, 0, 0);
}

/*
 * Map memory.  A locked mapping would be populated when it becomes accessible: unlock it before.
 *
 * Return: 0, -EEXIST if the range is in use, or another negative errno.
 */
static int map_at(struct dep_plan *p, u64 addr, u64 size, int prot, int flags, int fd)
{
	int err = 0;
	s64 ret;

	if (!dep_address_space_is_free(p->space, addr, addr + size) ||
	    p->nmade == ARRAY_SIZE(p->made))
		return -EEXIST;
	dep_undo_expect(p->r, size);
	ret = dep_remote_call(p->r, SYS_mmap, addr, size, (u64)(p->locks ? PROT_NONE : prot),
			      (u64)(flags | MAP_FIXED_NOREPLACE), (u64)(s64)fd, 0);
	dep_undo_made(p->r, ret);
	if (is_error(ret))
		return (int)ret;
	p->made[p->nmade].start = (u64)ret;
	p->made[p->nmade++].size = size;
	/* Kernels before 4.17 treat the address as a hint. */
	if ((u64)ret != addr) {
		dep_undo_unmaps(p->r, (u64)ret);
		dep_remote_call(p->r, SYS_munmap, (u64)ret, size, 0, 0, 0, 0);
		p->nmade--;
		return -EEXIST;
	}
	/* At once: a child that is forked before this call has the mapping. */
	keep_from_children(p, addr, size);
	keep_out_of_cores(p, addr, size);
	if (p->locks) {
		unlock(p, addr, size);
		err = make_accessible(p, addr, size, prot);
	}
	return err ? err : dep_address_space_add(p->space, addr, addr + size);
}

static void unmap_last(struct dep_plan *p)
{
	p->nmade--;
	dep_undo_unmaps(p->r, p->made[p->nmade].start);
	dep_remote_call(p->r, SYS_munmap, p->made[p->nmade].start, p->made[p->nmade].size,
			0, 0, 0, 0);
}

void dep_plan_undo(struct dep_plan *p)
{
	while (p->nmade)
		unmap_last(p);
}

static int map_failed(const struct dep_plan *p, int err, const char *what, struct dep_why *why)
{
	const char *hint = "";

	if (err == -ENOMEM)
		hint = " (is there a limit on its address space, ulimit -v?)";
	else if (err == -EAGAIN)
		hint = " (it locks its memory up to a limit, ulimit -l)";
	else if (err == -EACCES || err == -EPERM)
		hint = " (a security policy may forbid writable and executable memory)";
	/* Another attempt would not help: do not return EAGAIN. */
	return dep_inject_error(why, err == -EAGAIN ? ENOMEM : -err,
				"Process %d: no memory for %s: %s%s.", p->r->pid, what,
				strerror(-err), hint);
}

/* Map engine image and heap, a smaller heap if necessary. The session follows the heap's range. */
static int map_engine_at(struct dep_plan *p, const struct dep_target *t, u64 base,
			 struct adept_boot *b)
{
	u64 heap = base + align_up(t->image_mem, MIB(2)), size;
	int err = map_at(p, base, t->image_mem, PROT_READ | PROT_WRITE | PROT_EXEC, ANON, -1);

	if (err)
		return err;
	p->locks = p->space->in_use && locks_memory(p);
	if (p->locks)
		unlock(p, base, t->image_mem);
	for (size = HEAP_SIZE; size >= HEAP_MIN; size /= 4) {
		/* The engine makes it accessible as needed (base/heap.c). */
		err = map_at(p, heap, size, PROT_NONE, ANON, -1);
		if (err != -ENOMEM)
			break;
	}
	if (err) {
		unmap_last(p);
		return err;
	}
	b->image = base;
	b->image_size = t->image_mem;
	b->heap = heap;
	b->heap_size = size;
	b->session = heap + HEAP_SIZE;
	return 0;
}

static int map_engine(struct dep_plan *p, const struct dep_target *t, struct adept_boot *b)
{
	u64 whole = align_up(t->image_mem, MIB(2)) + HEAP_SIZE + t->layout.file_size;
	u64 base = whole <= ENGINE_END - ENGINE_BASE ? ENGINE_BASE : ENGINE_SPARE;
	int err = -EEXIST;

	for (int i = 0; i < ENGINE_TRIES && err == -EEXIST; i++) {
		if (dep_address_space_is_free(p->space, base, base + whole))
			err = map_engine_at(p, t, base, b);
		base += ENGINE_STEP;
		if (base < ENGINE_END && base + whole > ENGINE_END)
			base = ENGINE_SPARE;
	}
	return err;
}

/* Would a mapping be in the way of the program's heap, which grows upwards from brk? */
static bool blocks_heap(const struct dep_address_space *s, u64 start, u64 end)
{
	return end > s->brk && start < s->brk + BRK_ROOM;
}

static int map_low(struct dep_plan *p, struct adept_boot *b)
{
	int err = -EEXIST;

	for (u64 at = LOW_TOP; at >= LOW_BOTTOM && err == -EEXIST; at -= LOW_STEP) {
		if (blocks_heap(p->space, at, at + LOW_SIZE))
			continue;
		err = map_at(p, at, LOW_SIZE, PROT_READ | PROT_WRITE, ANON, -1);
		b->low = at;
	}
	b->low_size = LOW_SIZE;
	return err;
}

/* Are all code and data in [lo, hi) within reach of an arena at @at? */
static bool reaches(u64 at, u64 lo, u64 hi)
{
	u64 first = at < lo ? at : lo;
	u64 last = at + ARENA_SIZE > hi ? at + ARENA_SIZE : hi;

	return last - first < REACH;
}

static int map_arena(struct dep_plan *p, u64 at)
{
	return map_at(p, at, ARENA_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, ANON, -1);
}

/*
 * Is the mmap area allocated upwards? @probe: result of mmap(NULL), the free page nearest to the
 * base of that area.
 */
static bool is_legacy(u64 probe)
{
	return probe >= LEGACY_BASE && probe < LEGACY_BASE + LEGACY_RANDOM + GIB(64);
}

/* Follow adjacent mappings from @at to the edge of the mmap area. */
static u64 area_edge(const struct dep_address_space *s, u64 at, bool up)
{
	const struct dep_map *m;

	while ((m = dep_address_space_find(s, up ? at : at - 1)))
		at = up ? m->end : m->start;
	return at;
}

static int map_arena0(struct dep_plan *p, u64 probe, struct adept_boot *b)
{
	const struct dep_address_space *s = p->space;
	int err = -EEXIST;
	u64 at, room;

	if (is_legacy(probe)) {
		at = (area_edge(s, probe, false) - MIB(1) - ARENA_SIZE) & ~(MIB(2) - 1);
		err = map_arena(p, at);
	} else {
		u64 base = area_edge(s, probe + ADEPT_PAGE, true);

		room = s->stack_limit > STACK_MIN ? s->stack_limit : STACK_MIN;
		at = align_up(base + KIB(64), MIB(2));
		if (room < s->stack_lo &&
		    at + ARENA_SIZE + room + STACK_GUARD + STACK_MARGIN <= s->stack_lo)
			err = map_arena(p, at);
		for (u64 i = 0; i < 4 && err == -EEXIST; i++) {
			at = (base - GIB(3) / 2 - (i + 1) * ARENA_SIZE) & ~(MIB(2) - 1);
			err = map_arena(p, at);
		}
	}
	b->arena[0] = at;
	b->arena_size[0] = ARENA_SIZE;
	return err;
}

/* Find the extent of the code outside of the program; if there is none, that of the vdso. */
static void find_libraries(const struct dep_address_space *s, u64 *lo, u64 *hi)
{
	*lo = *hi = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct dep_map *m = &s->map[i];

		if (!m->exec || !m->ino || m->start < GIB(4) ||
		    (m->start < s->prog_hi && m->end > s->prog_lo))
			continue;
		if (!*lo)
			*lo = m->start;
		*hi = m->end;
	}
	if (!*lo && s->vdso) {
		*lo = s->vdso;
		*hi = s->vdso + s->vdso_size;
	}
}

/*
 * Find the place for an arena that is nearest to @lo in the gap from @start to @end; 0: none.  If
 * the stack or the heap can grow into the gap, room is left for them.
 */
static u64 place_in_gap(const struct dep_address_space *s, u64 start, u64 end, u64 lo)
{
	u64 room = s->stack_limit > STACK_MIN ? s->stack_limit : STACK_MIN;

	if (end == s->stack_lo) {
		if (room > GIB(1))
			room = GIB(1);
		if (room + STACK_GUARD + STACK_MARGIN > end)
			return 0;
		end -= room + STACK_GUARD + STACK_MARGIN;
	}
	if (start == s->brk)
		start += BRK_ROOM;
	start = align_up(start + KIB(64), MIB(2));
	end = (end - KIB(64)) & ~(MIB(2) - 1);
	if (start >= end || end - start < ARENA_SIZE)
		return 0;
	return lo >= end ? end - ARENA_SIZE : start;
}

/* Find the place for an arena that is nearest to @lo; 0: none. */
static u64 nearest_gap(const struct dep_address_space *s, u64 lo)
{
	u64 at, best = 0, far, nearest = ~0ull, start = MIB(2);

	for (size_t k = 0; k < s->n; k++) {
		at = s->map[k].start > start ? place_in_gap(s, start, s->map[k].start, lo) : 0;
		far = at > lo ? at - lo : lo - at;
		if (at && far < nearest) {
			nearest = far;
			best = at;
		}
		start = s->map[k].end;
	}
	return best;
}

/*
 * In a process that has run: map arena @i in the gap between mappings that is nearest to @lo.  The
 * process may run, and have mapped something there since its mappings were read.
 */
static int map_in_gap(struct dep_plan *p, struct adept_boot *b, int i, u64 lo)
{
	int err = -EEXIST, tries;
	u64 at;

	for (tries = 0; tries < GAP_TRIES && err == -EEXIST; tries++) {
		at = nearest_gap(p->space, lo);
		err = at ? map_arena(p, at) : -ENOMEM;
		if (err == -EEXIST && dep_address_space_add(p->space, at, at + ARENA_SIZE))
			err = -ENOMEM;
	}
	if (!err) {
		b->arena[i] = at;
		b->arena_size[i] = ARENA_SIZE;
	}
	return err;
}

static int map_arenas_used(struct dep_plan *p, struct adept_boot *b)
{
	const struct dep_address_space *s = p->space;
	u64 lo, hi;
	int err;

	find_libraries(s, &lo, &hi);
	err = map_in_gap(p, b, 0, lo);
	if (err || reaches(b->arena[0], s->prog_lo, s->prog_hi))
		return err;
	return map_in_gap(p, b, 1, s->prog_lo);
}

static int map_arena1(struct dep_plan *p, struct adept_boot *b)
{
	const struct dep_address_space *s = p->space;
	u64 lo = s->prog_lo, hi = s->prog_hi, at;
	int err = -EEXIST;

	/* A program in the mmap area (static-pie, ld.so as a command) shares arena 0. */
	if (reaches(b->arena[0], lo, hi))
		return 0;
	if (hi <= GIB(2)) {
		for (at = ARENA_LOW_TOP; at >= MIB(16) && err == -EEXIST; at -= MIB(16)) {
			if (blocks_heap(s, at, at + ARENA_SIZE) || !reaches(at, lo, hi))
				continue;
			err = map_arena(p, at);
			b->arena[1] = at;
		}
	} else {
		for (u64 i = 0; i < 16 && err == -EEXIST; i++) {
			at = (lo - MIB(1) - (i + 1) * ARENA_SIZE) & ~(MIB(2) - 1);
			if (at > lo || !reaches(at, lo, hi))
				break;
			err = map_arena(p, at);
			b->arena[1] = at;
		}
	}
	if (!err)
		b->arena_size[1] = ARENA_SIZE;
	else
		b->arena[1] = 0;
	return err;
}

/** dep_plan_fits() - see internal.h */
int dep_plan_fits(const struct dep_address_space *s, const struct dep_target *t,
		  const struct dep_base *base, struct dep_why *why)
{
	const u64 now = t->image_mem + LOW_SIZE + 2 * ARENA_SIZE, later = HEAP_SIZE + ARENAS_SIZE;

	if (s->data_limit == RLIM_INFINITY || s->data_hard_limit == RLIM_INFINITY ||
	    base->caps >> CAP_SYS_RESOURCE & 1 || s->data_limit > now + DATA_SPARE ||
	    s->data_limit + 2 * now + later <= s->data_hard_limit)
		return 0;
	return dep_inject_error(why, ENOMEM,
				"its limit of memory (ulimit -d) leaves no room for the "
				"engine");
}

int dep_plan_make(struct dep_plan *p, const struct dep_target *t, u64 probe,
		  struct adept_boot *b, struct dep_why *why)
{
	int err = map_engine(p, t, b);

	if (err)
		return map_failed(p, err, "the engine", why);
	err = map_low(p, b);
	if (err)
		return map_failed(p, err, "the branch tables below 2 GiB", why);
	if (p->space->in_use) {
		err = map_arenas_used(p, b);
		return err ? map_failed(p, err, "the code cache", why) : 0;
	}
	err = map_arena0(p, probe, b);
	if (err)
		return map_failed(p, err, "the code cache near the libraries", why);
	err = map_arena1(p, b);
	if (err)
		return map_failed(p, err, "the code cache near the program", why);
	return 0;
}

/**
 * dep_plan_session() - map the session, and make accessible what is used from the start
 * @remote_fd: the session file in the target
 *
 * That is everything before the descriptor rings, and the descriptor ring of slot b->proc.
 */
int dep_plan_session(struct dep_plan *p, const struct dep_target *t, int remote_fd,
		     struct adept_boot *b, struct dep_why *why)
{
	u64 desc = b->session + t->layout.desc_off + (u64)b->proc * t->layout.desc_size;
	int err = map_at(p, b->session, t->layout.file_size, PROT_NONE, MAP_SHARED | MAP_NORESERVE,
			 remote_fd);

	if (!err)
		err = make_accessible(p, b->session, t->layout.desc_off, PROT_READ | PROT_WRITE);
	if (!err)
		err = make_accessible(p, desc, t->layout.desc_size, PROT_READ | PROT_WRITE);
	return err ? map_failed(p, err, "the session", why) : 0;
}

/**
 * dep_plan_rings() - map the kernel module's rings over the session's
 * @remote_fd: the file of the rings in the target
 */
int dep_plan_rings(struct dep_plan *p, const struct dep_target *t, int remote_fd,
		   const struct adept_boot *b, struct dep_why *why)
{
	u64 at = b->session + t->layout.ring_off;
	s64 ret = dep_remote_call(p->r, SYS_mmap, at, t->layout.file_size - t->layout.ring_off,
				  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
				  (u64)(s64)remote_fd, 0);

	if (is_error(ret))
		return map_failed(p, (int)ret, "the kernel module's rings", why);
	/* They replace a part of the session's mapping, and have none of its settings. */
	keep_from_children(p, at, t->layout.file_size - t->layout.ring_off);
	keep_out_of_cores(p, at, t->layout.file_size - t->layout.ring_off);
	return 0;
}
