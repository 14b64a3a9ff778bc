// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The engine's heap: a reserved range, filled from below, with a free list per
 * power-of-two class.  Fresh memory comes zeroed from the kernel.
 *
 * The range is mapped PROT_NONE and made accessible 2 MiB at a time: gigabytes of accessible
 * memory would count against the commit limit of a system with vm.overcommit_memory=2, and
 * would be populated by a lock of the whole address space.
 */
#include "prefault.h"
#include "runtime.h"
#include "libdep/engine/os/rlimit.h"

#define MIN_SHIFT	4
#define NCLASSES	24
#define OPEN_SIZE	(2ull << 20)
#define TIGHT_SIZE	(64ull << 20)

static struct lock heap_lock;
static u64 next, opened, limit;
static u64 ready;	/* pages up to here were asked for */
static void *free_list[NCLASSES];

/* Make the heap accessible up to @end; heap_lock held.  Return: 0 if there is no memory. */
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

static unsigned int size_class(size_t n)
{
	unsigned int c = 0;

	while (((size_t)1 << (c + MIN_SHIFT)) < n)
		c++;
	return c;
}

/* Small sizes are rounded to 16 bytes only, and shared between frees by class. */
void *heap_alloc(size_t n)
{
	unsigned int c = size_class(n);
	void *p;

	if (c >= NCLASSES)
		fatal("allocation of %u bytes", (unsigned int)n);
	lock(&heap_lock);
	p = free_list[c];
	if (p) {
		free_list[c] = *(void **)p;
		unlock(&heap_lock);
		memset(p, 0, n);
		return p;
	}
	/*
	 * The limits of the process allow it (os/rlimit.h), so its 4 GiB are used or the machine
	 * has no memory.  It is the translator that asks, with its tables half changed: the process
	 * cannot go on, in the engine or without it.
	 */
	if (!open_up_to(next + n + 16)) {
		unlock(&heap_lock);
		fatal("no memory for the engine: %u of its %u MiB are used",
		      (unsigned int)((next - boot.heap) >> 20),
		      (unsigned int)(boot.heap_size >> 20));
	}
	/* A large table may stay mostly unused. */
	if (n < PREFAULT_SIZE)
		prefault_ahead(&ready, next, next + n, opened);
	p = (void *)next;
	next = ALIGN_UP(next + n, 16);
	unlock(&heap_lock);
	return p;
}

/* A block goes to the largest class that it can serve. */
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
