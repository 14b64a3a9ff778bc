// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The engine's heap: a reserved range that is filled from below, with a free list for each
 * power-of-two size class.  New memory is zeroed by the kernel.
 *
 * The range is mapped PROT_NONE and made accessible 2 MiB at a time.  Otherwise gigabytes would
 * count against the commit limit if vm.overcommit_memory is 2, and mlockall() would populate them.
 */
#include "prefault.h"
#include "runtime.h"
#include "rlimit.h"

#define MIN_SHIFT	4
#define NCLASSES	24
#define OPEN_SIZE	(2ull << 20)
#define TIGHT_SIZE	(64ull << 20)

static struct lock heap_lock;
static u64 next, opened, limit;
static u64 ready;	/* pages below this address are populated (prefault_ahead()) */
static void *free_list[NCLASSES];

/* Make the heap accessible up to @end; heap_lock is held.  Return: 0 if there is no memory. */
static int open_up_to(u64 end)
{
	u64 to = ALIGN_UP(end, OPEN_SIZE);

	if (end <= opened)
		return 1;
	if (end > limit)
		return 0;
	if (to > limit)
		to = limit;
	rlimit_grow(to - opened, 0);
	if (sys3(__NR_mprotect, opened, to - opened, K_PROT_READ | K_PROT_WRITE) < 0)
		return 0;
	opened = to;
	return 1;
}

int heap_init(u64 base, u64 size)
{
	next = base + 16;
	opened = base;
	limit = base + size;
	return open_up_to(base + (rlimit_is_tight() ? TIGHT_SIZE : OPEN_SIZE));
}

int heap_limits_known(void)
{
	rlimit_grow(opened - boot.heap, 0);
	return !rlimit_is_tight() || open_up_to(boot.heap + TIGHT_SIZE);
}

static unsigned int size_class(size_t n)
{
	unsigned int c = 0;

	while (((size_t)1 << (c + MIN_SHIFT)) < n)
		c++;
	return c;
}

/* The size of a new block is rounded up to a multiple of 16, not to that of its size class. */
void *heap_alloc(size_t n)
{
	unsigned int c = size_class(n);
	void *p;

	if (c >= NCLASSES)
		fatal("allocation of %u bytes is larger than any size class of the heap",
		      (unsigned int)n);
	lock(&heap_lock);
	p = free_list[c];
	if (p) {
		free_list[c] = *(void **)p;
		unlock(&heap_lock);
		memset(p, 0, n);
		return p;
	}
	/*
	 * The process's limits have room for the heap (rlimit.h), so either its 4 GiB are used
	 * or the machine is out of memory.  The caller may be the translator with half-changed
	 * tables, so the process cannot continue, neither in the engine nor natively.
	 */
	if (!open_up_to(next + n + 16)) {
		unlock(&heap_lock);
		fatal("cannot extend the engine's heap: %u of its %u MiB are used",
		      (unsigned int)((next - boot.heap) >> 20),
		      (unsigned int)(boot.heap_size >> 20));
	}
	/* Do not populate large tables: most of their pages may never be used. */
	if (n < PREFAULT_SIZE)
		prefault_ahead(&ready, next, next + n, opened);
	p = (void *)next;
	next = ALIGN_UP(next + n, 16);
	unlock(&heap_lock);
	return p;
}

/* Put the block on the free list of the largest size class that it can serve. */
void heap_free(void *p, size_t n)
{
	unsigned int c = size_class(n);

	if (!p)
		return;
	if (((size_t)1 << (c + MIN_SHIFT)) > ALIGN_UP(n, 16)) {
		if (!c)
			return;
		c--;
	}
	lock(&heap_lock);
	*(void **)p = free_list[c];
	free_list[c] = p;
	unlock(&heap_lock);
}

void heap_lock_for_fork(int hold)
{
	if (hold)
		lock(&heap_lock);
	else
		unlock(&heap_lock);
}
