// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Locked memory: the engine's mappings are neither locked nor counted.
 *
 * If a range reaches into the engine's memory, the part before that memory is locked and the call
 * fails with ENOMEM, as it would natively, where nothing is mapped at these addresses.
 *
 * MCL_FUTURE is passed to the kernel.  The engine reserves its address space when it starts.  Later
 * it maps only further arenas, which it unlocks (translate/arena.c).
 *
 * MCL_CURRENT would lock the engine's gigabytes, so the engine locks the program's mappings one by
 * one.
 */
#include "libdep/engine/base/maps.h"
#include "libdep/engine/translate/code_map.h"
#include "mlock.h"
#include "syscall.h"
#include "libdep/engine/record/record.h"
#include "libdep/engine/record/safepoint.h"

#define MCL_CURRENT	1
#define MCL_FUTURE	2
#define MCL_ONFAULT	4
#define MLOCK_ONFAULT	1
#define RLIMIT_MEMLOCK	8
#define ADDRESSES_END	0x800000000000ull

static u32 future;	/* not 0: the last mlockall() had MCL_FUTURE */

static s64 lock_range(struct tls *t, u64 nr, const u64 args[6])
{
	u64 offset = args[0] & (ADEPT_PAGE - 1), start = args[0] - offset;
	u64 end = start + ALIGN_UP(args[1] + offset, ADEPT_PAGE), ours;
	u64 a[6] = { start, 0, args[2], args[3], args[4], args[5] };
	s64 ret;

	if (end < start)
		return app_syscall(t, nr, args);
	ours = mem_ours_from(start, end);
	if (ours == end)
		return app_syscall(t, nr, args);
	a[1] = ours - start;
	ret = app_syscall(t, nr, a);
	return ret < 0 ? ret : -E_NOMEM;
}

/* Find the next mapping of the program, skipping the engine's.  Return: 0 if there is none. */
static int next_of_program(struct maps *m, struct map_line *l)
{
	while (maps_next(m, l))
		if (l->start < ADDRESSES_END && !mem_is_ours(l->start, l->end - l->start))
			return 1;
	return 0;
}

/*
 * Whether the process may lock more than @limit bytes.  This depends on its capabilities in its
 * user namespace, so try it: lock memory that is never populated.
 */
static int may_exceed(u64 limit)
{
	u64 size = ALIGN_UP(limit, ADEPT_PAGE) + ADEPT_PAGE;
	s64 at = sys6(__NR_mmap, 0, size, K_PROT_NONE,
		      K_MAP_PRIVATE | K_MAP_ANON | K_MAP_NORESERVE, (u64)-1, 0);
	s64 ret;

	if (at < 0)
		return 0;
	ret = sys3(__NR_mlock2, (u64)at, size, MLOCK_ONFAULT);
	sys2(__NR_munmap, (u64)at, size);
	return !ret;
}

/* Make the kernel's checks for MCL_CURRENT, but count only the program's mappings. */
static s64 check_limit(void)
{
	u64 limit[2], total = 0;
	struct map_line l;
	struct maps m;
	s64 err;

	if (sys2(__NR_mlock, 0, 0) == -E_PERM)
		return -E_PERM;
	err = sys4(__NR_prlimit64, 0, RLIMIT_MEMLOCK, 0, (u64)limit);
	if (err)
		return err;
	err = maps_open(&m);
	if (err)
		return -E_NOMEM;
	while (next_of_program(&m, &l))
		total += l.end - l.start;
	maps_close(&m);
	return total <= limit[0] || may_exceed(limit[0]) ? 0 : -E_NOMEM;
}

/* Like the kernel, skip mappings that cannot be locked or populated. */
static void lock_program(u64 flags)
{
	struct map_line l;
	struct maps m;

	if (maps_open(&m))
		return;
	while (next_of_program(&m, &l))
		sys3(__NR_mlock2, l.start, l.end - l.start,
		     flags & MCL_ONFAULT ? MLOCK_ONFAULT : 0);
	maps_close(&m);
}

static s64 lock_current(u64 flags)
{
	s64 err = check_limit();

	if (err)
		return err;
	if (flags & MCL_FUTURE)
		err = sys1(__NR_mlockall, flags & ~(u64)MCL_CURRENT);
	else if (future)
		err = sys0(__NR_munlockall);
	if (err)
		return err;
	future = flags & MCL_FUTURE;
	lock_program(flags);
	return 0;
}

static s64 lock_all(struct tls *t, const u64 args[6])
{
	u64 flags = (u32)args[0];
	s64 ret;

	if (!(flags & MCL_CURRENT) || flags > (MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)) {
		ret = app_syscall(t, __NR_mlockall, args);
		if (!ret)
			future = flags & MCL_FUTURE;
		return ret;
	}
	ring_reserve_end(t);
	safepoint_enter(t);
	ret = lock_current(flags);
	safepoint_leave(t);
	return ret;
}

s64 mlock_syscall(struct tls *t, u64 nr, const u64 args[6])
{
	s64 ret;

	switch (nr) {
	case __NR_mlockall:
		return lock_all(t, args);
	case __NR_munlockall:
		ret = app_syscall(t, nr, args);
		if (!ret)
			future = 0;
		return ret;
	default:
		return lock_range(t, nr, args);
	}
}

void mlock_forked(void)
{
	future = 0;
}
