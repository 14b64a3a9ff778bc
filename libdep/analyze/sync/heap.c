// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Allocated and freed heap memory.
 *
 * Freeing a block counts as a write to it. Allocating makes the memory new: earlier accesses are
 * forgotten. The address that posix_memalign() returns is not recorded; from the first such call
 * on, its calls acquire what all frees released.
 */
#include <errno.h>

#include "predict_events.h"

/* In larger blocks only the bytes that were accessed count as freed, which saves shadow memory. */
#define ALL_OF_IT	(1u << 20)
/* In larger parts only the accessed bytes become candidates (bytes for the exact passes). */
#define EXACTLY		(16u << 20)

/*
 * Once the program allocates at unknown addresses, each free releases to these allocations. The
 * first pass omits that, since the thread's filter begins no interval here. Without this order it
 * finds more candidates, which is harmless.
 */
static int given_back(struct sync_thread *t)
{
	if (!t->image->heap.result_unused || t->sync->pass == SYNC_FIRST)
		return 0;
	return sync_release(t, SYNC_HEAP, t->image->number);
}

static int may_race(void *raced, u64 address, u64 size)
{
	return dep_word_set_add(raced, address, size);
}

/*
 * Add to the candidates the part of a block from offset @again on, which is not new memory for the
 * thread's filter. The filter may drop the thread's later accesses to it as redundant, though
 * another thread may own the memory by then. If the part is implausibly large, only the bytes that
 * were accessed are added.
 */
static int not_shown_again(struct sync_thread *t, u64 block, u64 size, u64 again)
{
	struct dep_word_set *raced = &t->process->scope->raced;

	if (t->sync->pass != SYNC_FIRST || again >= size)
		return 0;
	if (size - again <= EXACTLY)
		return dep_word_set_add(raced, block + again, size - again);
	return race_each_known(t->process->detector, block + again, size - again, may_race, raced);
}

/* Free the block at @address. @again: size of the part that is new memory for the filter. */
static int freed(struct sync_thread *t, u64 pc, u64 address, u64 again)
{
	struct sync_heap *h = &t->image->heap;
	struct sync_block *b = sync_heap_find(h, address);
	u64 size;
	int err;

	if (!b)
		return given_back(t);
	size = b->size;
	err = not_shown_again(t, address, size, again);
	if (!err && t->sync->nwant)
		err = sync_want_stack(t->sync, t, pc, address, size);
	sync_heap_remove(h, b);
	if (!err)
		err = sync_flush(t);
	if (t->early)
		return err ? err : given_back(t);
	if (!err && size <= ALL_OF_IT)
		err = race_access(t->process->detector, t->index, pc, address, (u32)size,
				  RACE_WRITE | RACE_FREE);
	else if (!err)
		err = race_access_known(t->process->detector, t->index, pc, address, size,
					RACE_WRITE | RACE_FREE);
	if (!err)
		err = sync_predict_access(t, pc, address, size, RACE_WRITE | RACE_FREE,
					  size > ALL_OF_IT);
	return err ? err : given_back(t);
}

/* The thread has allocated a block at an unknown address. */
static int allocated_blindly(struct sync_thread *t)
{
	struct sync_heap *h = &t->image->heap;

	if (t->sync->pass == SYNC_FIRST)
		return 0;
	if (h->result_unused)
		return sync_acquire(t, SYNC_HEAP, t->image->number);
	h->result_unused = true;
	return sync_barrier_all(t, true);
}

static int allocated(struct sync_thread *t, const struct sync_frame *f, u64 address, u64 size)
{
	int err = sync_flush(t);

	if (!err)
		err = sync_forget(t, address, size);
	return err || !size ? err : sync_heap_add(t, f, address, size);
}

int sync_heap_enter(struct sync_thread *t, const struct sync_frame *f)
{
	const struct sync_block *b;

	/* A free by realloc() is known at its return; the caller's stack must be copied now. */
	if (t->sync->nwant && dep_function_reallocates(f->function) && f->known & 1) {
		b = sync_heap_find(&t->image->heap, sync_at(t, f->arg[0]));
		return b ? sync_want_stack(t->sync, t, f->pc, b->address, b->size) : 0;
	}
	if (!dep_function_frees(f->function) || !(f->known & 1))
		return 0;
	return freed(t, f->pc, sync_at(t, f->arg[0]), f->again);
}

/*
 * malloc_usable_size() or the like reported @size: the program may use the block up to it. @again:
 * size of the part that is new memory for the thread's filter.
 */
static int grown(struct sync_thread *t, u64 address, u64 size, u64 again)
{
	struct sync_block *b = sync_heap_find(&t->image->heap, address);
	u64 old = b ? b->size : size;
	int err;

	if (size <= old)
		return 0;
	b->size = size;
	err = not_shown_again(t, address, size, old > again ? old : again);
	return err ? err : sync_forget(t, address + old, size - old);
}

int sync_heap_leave(struct sync_thread *t, const struct sync_frame *f,
		    const struct dep_function_call *left)
{
	u64 size, old = 0, before, result = left->passed->value[0];
	bool known = left->known & 1;
	struct sync_block *b;
	int err = 0;

	if (f->function == DEP_F_POSIX_MEMALIGN)
		return known && (u32)result ? 0 : allocated_blindly(t);
	if (dep_function_tells_size(f->function))
		return known && f->known & 1 ?
			       grown(t, sync_at(t, f->arg[0]), result, left->passed->again) : 0;
	if (!dep_function_asks(f->function, f->known, f->arg, &size))
		return 0;
	if (!known)
		return allocated_blindly(t);
	if (!result && size)
		return 0;
	before = f->arg[0] ? sync_at(t, f->arg[0]) : 0;
	result = result ? sync_at(t, result) : 0;
	if (!dep_function_reallocates(f->function) || !(f->known & 1) || !before)
		return result ? allocated(t, f, result, size) : 0;
	if (result != before) {
		err = freed(t, f->pc, before, DEP_FILTER_ALL_OF_IT);
		return err || !result ? err : allocated(t, f, result, size);
	}
	b = sync_heap_find(&t->image->heap, result);
	if (b) {
		old = b->size;
		sync_heap_remove(&t->image->heap, b);
	}
	if (size > old)
		err = sync_forget(t, result + old, size - old);
	return err || !size ? err : sync_heap_add(t, f, result, size);
}
