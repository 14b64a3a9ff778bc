// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The engine's heap: a reserved range, filled from below, with a free list per
 * power-of-two class.  Fresh memory comes zeroed from the kernel.
 */
#include "rt.h"

#define MIN_SHIFT	4
#define NCLASSES	24

static struct lock heap_lock;
static u64 next, limit;
static void *free_list[NCLASSES];

void heap_init(u64 base, u64 size)
{
	next = base + 16;
	limit = base + size;
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
	if (next + n + 16 > limit) {
		unlock(&heap_lock);
		fatal("the engine's %u MiB of memory are used up",
		      (unsigned int)(boot.heap_size >> 20));
	}
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
