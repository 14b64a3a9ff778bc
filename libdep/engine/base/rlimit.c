// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The program's limits are computed from the kernel's limits on every call and not stored: a vfork
 * child shares this memory but has kernel limits of its own.
 */
#include "rlimit.h"

#define RLIMIT_DATA	2
#define RLIMIT_AS	9
#define INFINITE	(~0ull)

/*
 * The engine's share of a limit: the kernel's limit minus the program's.  Changed under share_lock.
 */
struct share {
	u32 resource;
	u32 finite;		/* 1: the kernel has or had a limit; 0: no need to read it */
	u64 soft, hard;
};

/*
 * Bytes that a limit must leave for the program and for memory that the engine takes later, if the
 * limit cannot be raised.
 */
#define SPARE		(1ull << 30)

static int tight;	/* 1: a limit could not be raised */
static struct lock share_lock;
static struct share shares[2] = { { .resource = RLIMIT_DATA }, { .resource = RLIMIT_AS } };

static struct share *share_of(u64 resource)
{
	for (u32 i = 0; i < ARRAY_SIZE(shares); i++)
		if (shares[i].resource == resource)
			return &shares[i];
	return NULL;
}

static u64 more(u64 limit, u64 by)
{
	return limit > INFINITE - 1 - by ? (limit == INFINITE ? INFINITE : INFINITE - 1) :
					   limit + by;
}

static u64 less(u64 limit, u64 by)
{
	return limit == INFINITE ? INFINITE : limit > by ? limit - by : 0;
}

static s64 get(u32 resource, struct rlimit_pair *l)
{
	return sys4(__NR_prlimit64, 0, resource, 0, (u64)l);
}

static s64 set(u32 resource, const struct rlimit_pair *l)
{
	return sys4(__NR_prlimit64, 0, resource, (u64)l, 0);
}

/*
 * Raise the limits of @s by @soft bytes, and the hard limit by @later bytes more.
 *
 * Raising a hard limit requires CAP_SYS_RESOURCE.  Without this capability, raise only the soft
 * limit if the hard limit permits it.  If it does not, the engine's memory is taken from the
 * program's limit.
 *
 * Return: 0 if this could leave too little for the program.
 */
static int add_share(struct share *s, u64 soft, u64 later)
{
	struct rlimit_pair l, wide;

	s->soft = soft;
	s->hard = soft + later;
	if (get(s->resource, &l) < 0)
		return 1;
	s->finite = l.soft != INFINITE;
	wide = (struct rlimit_pair){ more(l.soft, s->soft), more(l.hard, s->hard) };
	if (!set(s->resource, &wide))
		return 1;
	s->hard = 0;
	wide.hard = l.hard;
	if (l.soft != INFINITE && more(l.soft, soft + later) <= l.hard && !set(s->resource, &wide))
		return 1;
	s->soft = 0;
	tight = 1;
	return l.soft > more(soft, SPARE);
}

int rlimit_init(u64 later)
{
	u64 arenas = boot.arena_size[0] + boot.arena_size[1];
	u64 data = boot.image_size + boot.low_size + arenas;
	u64 mapped = data + boot.heap_size + layout()->file_size;

	return add_share(&shares[0], data, boot.heap_size + later) &&
	       add_share(&shares[1], mapped, later);
}

static void grow(struct share *s, u64 bytes)
{
	struct rlimit_pair l;

	if (!bytes || !s->soft)
		return;
	s->soft += bytes;
	if (!s->finite || get(s->resource, &l) < 0 || l.soft == INFINITE)
		return;
	l.soft = more(l.soft, bytes) < l.hard ? more(l.soft, bytes) : l.hard;
	set(s->resource, &l);
}

void rlimit_grow(u64 data, u64 mapped)
{
	lock(&share_lock);
	grow(&shares[0], data);
	grow(&shares[1], mapped);
	unlock(&share_lock);
}

static void shrink(struct share *s, u64 bytes)
{
	struct rlimit_pair l;

	if (!s->soft)
		return;
	s->soft -= bytes;
	if (!s->finite || get(s->resource, &l) < 0 || l.soft == INFINITE)
		return;
	l.soft = less(l.soft, bytes);
	set(s->resource, &l);
}

void rlimit_shrink(u64 bytes)
{
	lock(&share_lock);
	for (u32 i = 0; i < ARRAY_SIZE(shares); i++)
		shrink(&shares[i], bytes);
	unlock(&share_lock);
}

int rlimit_is_tight(void)
{
	return tight;
}

int rlimit_is_finite(void)
{
	return shares[0].finite || shares[1].finite;
}

int rlimit_is_ours(u64 resource)
{
	return share_of(resource) != NULL;
}

/* The program's view of the kernel's limit; share_lock held. */
static s64 get_program(const struct share *s, struct rlimit_pair *l)
{
	s64 ret = get(s->resource, l);

	if (!ret) {
		l->soft = less(l->soft, s->soft);
		l->hard = less(l->hard, s->hard);
	}
	return ret;
}

static s64 set_program(struct share *s, u64 nr, const struct rlimit_pair *l)
{
	const struct rlimit_pair wide = { more(l->soft, s->soft), more(l->hard, s->hard) };
	const u64 by_pid[6] = { 0, s->resource, (u64)&wide, 0 };
	const u64 of_self[6] = { s->resource, (u64)&wide };

	if (l->soft > l->hard)
		return -E_INVAL;
	s->finite |= l->soft != INFINITE;
	return filtered_syscall(nr, nr == __NR_prlimit64 ? by_pid : of_self);
}

s64 rlimit_change(u64 resource, u64 nr, const struct rlimit_pair *to, struct rlimit_pair *old)
{
	struct share *s = share_of(resource);
	s64 ret;

	lock(&share_lock);
	ret = get_program(s, old);
	if (!ret && to)
		ret = set_program(s, nr, to);
	unlock(&share_lock);
	return ret;
}

/*
 * Try to raise the hard limit: the process's capabilities do not tell whether this is permitted,
 * since they may be valid only in another user namespace.
 */
static int may_raise(u32 resource, const struct rlimit_pair *l)
{
	const struct rlimit_pair wide = { l->soft, more(l->hard, ADEPT_PAGE) };

	return l->hard != INFINITE && !set(resource, &wide);
}

/* If @finally is 0, keep the hard limits that could not be raised again after a failed execve. */
u32 rlimit_exec_begin(int finally)
{
	u32 lowered = 0;
	struct rlimit_pair l;

	lock(&share_lock);
	for (u32 i = 0; i < ARRAY_SIZE(shares); i++) {
		const struct share *s = &shares[i];

		if (get(s->resource, &l) < 0 || (l.soft == INFINITE && l.hard == INFINITE))
			continue;
		l.soft = less(l.soft, s->soft);
		if (may_raise(s->resource, &l))
			lowered |= 1u << i;
		if (finally || lowered & 1u << i)
			l.hard = less(l.hard, s->hard);
		set(s->resource, &l);
	}
	unlock(&share_lock);
	return lowered;
}

void rlimit_exec_failed(u32 lowered)
{
	struct rlimit_pair l;

	lock(&share_lock);
	for (u32 i = 0; i < ARRAY_SIZE(shares); i++) {
		const struct share *s = &shares[i];

		if (get(s->resource, &l) < 0 || (l.soft == INFINITE && l.hard == INFINITE))
			continue;
		l.soft = more(l.soft, s->soft);
		if (lowered & 1u << i)
			l.hard = more(l.hard, s->hard);
		if (l.soft > l.hard)
			l.soft = l.hard;
		set(s->resource, &l);
	}
	unlock(&share_lock);
}

void rlimit_lock_for_fork(int hold)
{
	if (hold)
		lock(&share_lock);
	else
		unlock(&share_lock);
}
