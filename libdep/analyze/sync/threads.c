// SPDX-License-Identifier: LGPL-2.1-or-later
/* The threads of a session: creation, begin and end. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "predict_events.h"

struct sync_thread *sync_thread_of(struct sync_events *f, const struct dep_thread *t)
{
	struct sync_thread *r;
	struct sync_thread **more;
	size_t n = f->nthreads ? f->nthreads : 64;

	if (t->serial < f->nthreads && f->thread[t->serial])
		return f->thread[t->serial];
	while (n <= t->serial)
		n *= 2;
	if (n > f->nthreads) {
		more = realloc(f->thread, n * sizeof(struct sync_thread *));
		if (!more)
			return NULL;
		memset(more + f->nthreads, 0, (n - f->nthreads) * sizeof(struct sync_thread *));
		f->thread = more;
		f->nthreads = n;
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->serial = t->serial;
	r->tid = t->tid;
	r->index = RACE_NO_THREAD;
	r->sync = f;
	r->early = f->from;
	r->image = sync_image_of(f, t);
	if (!r->image) {
		free(r);
		return NULL;
	}
	r->process = r->image->process;
	f->thread[t->serial] = r;
	return r;
}

int sync_stack(struct sync_process *p, u64 start, u64 size)
{
	u32 i, room;
	void *more;

	for (i = 0; i < p->nstacks && p->stack[i].start != start; i++)
		;
	if (i == p->stacks_room) {
		room = i ? i * 2 : 16;
		more = realloc(p->stack, room * sizeof(*p->stack));
		if (!more)
			return sync_no_memory();
		p->stack = more;
		p->stacks_room = room;
	}
	p->stack[i].start = start;
	p->stack[i].size = size;
	p->nstacks += i == p->nstacks;
	return 0;
}

#define PAGE		4096u
#define UNKNOWN_STACK	(8ull << 20)	/* size of a stack whose mapping was not recorded */

/*
 * Forget accesses to the stack of the thread that @t creates, which may have been the stack of an
 * ended thread. The stack is that which contains @child_tid.
 */
static int forget_stack(const struct sync_thread *t, u64 child_tid)
{
	struct sync_process *p = t->process;
	u32 i;

	for (i = 0; i < p->nstacks; i++)
		if (child_tid - p->stack[i].start < p->stack[i].size) {
			sync_predict_forget(p, p->stack[i].start, p->stack[i].size);
			return race_forget_by(p->detector, t->index, p->stack[i].start,
					      p->stack[i].size);
		}
	/* With --last the call that mapped the stack may have been dropped. */
	if (!t->sync->from || child_tid < UNKNOWN_STACK)
		return 0;
	return race_forget_by(p->detector, t->index, child_tid - UNKNOWN_STACK,
			      UNKNOWN_STACK + PAGE);
}

/* Make room for one more entry of p->child, the last one. */
static int add_child(struct sync_process *p)
{
	u32 room;
	void *more;

	if (p->nchildren == p->children_room) {
		room = p->children_room ? p->children_room * 2 : 16;
		more = realloc(p->child, room * sizeof(*p->child));
		if (!more)
			return sync_no_memory();
		p->child = more;
		p->children_room = room;
	}
	p->nchildren++;
	return 0;
}

int sync_thread_created(struct sync_thread *t, const struct adept_ev_fork *ev)
{
	struct sync_process *p = t->process;
	u64 child_tid = ev->child_tid ? sync_at(t, ev->child_tid) : 0;
	u32 index, i;
	int err;

	if (!(ev->flags & CLONE_VM))
		return sync_forked(t, ev->pid);
	t->image->multi = true;
	err = sync_flush(t);
	if (!err)
		err = forget_stack(t, child_tid);
	if (!err)
		err = race_thread_begin(p->detector, t->index, &index);
	if (!err)
		err = sync_predict_thread(p, index, t);
	if (err)
		return err;
	sync_note_creation(t, index);
	err = add_child(p);
	if (err)
		return err;
	i = p->nchildren - 1;
	p->child[i].image = t->image;
	t->image->created++;
	p->child[i].tid = ev->pid;
	p->child[i].index = index;
	p->child[i].flags = ev->flags;
	p->child[i].child_tid = child_tid;
	/* The word at @child_tid is an object: a thread that waits for the child's end reads it. */
	if (child_tid && !sync_object_get(&p->objects, SYNC_WORD, child_tid / 4))
		return sync_no_memory();
	return 0;
}

int sync_tid_address(struct sync_thread *t, u64 address)
{
	struct sync_process *p = t->process;
	u32 i = 0;

	while (i < p->nchildren && p->child[i].index != t->index)
		i++;
	if (i == p->nchildren && add_child(p))
		return -ENOMEM;
	p->child[i].image = NULL;
	p->child[i].tid = t->tid;
	p->child[i].index = t->index;
	p->child[i].flags = 0;
	p->child[i].child_tid = sync_at(t, address);
	/* A thread that waits for the end of this one reads this word. */
	return sync_object_get(&p->objects, SYNC_WORD, p->child[i].child_tid / 4) ?
	       0 : sync_no_memory();
}

/* The creation of @t was not recorded. The recorder may know what the kernel clears at its end. */
static int begin_unknown(struct sync_thread *t)
{
	const struct dep_last *l = &t->sync->last;
	int err = sync_image_begin(t);
	size_t i;

	for (i = 0; i < l->nthreads && !err; i++)
		if (l->thread[i].thread == t->serial && l->thread[i].tid_address)
			err = sync_tid_address(t, l->thread[i].tid_address);
	return err;
}

int sync_thread_begin(struct sync_thread *t)
{
	struct sync_process *p = t->process;
	u32 i = p->nchildren;
	int err = p->detector ? 0 : sync_process_again(t->sync, p);

	if (err)
		return err;
	t->begun = true;
	t->image->seen++;
	t->life = p->lives;
	while (i-- && p->child[i].tid != t->tid)
		;
	if (i == ~0u) {
		err = begin_unknown(t);
		return err ? err : sync_image_note(t);
	}
	t->image->alive++;
	if (p->child[i].image)
		p->child[i].image->created--;
	p->child[i].image = NULL;
	t->index = p->child[i].index;
	t->vforked = p->child[i].flags & CLONE_VFORK;
	t->in_library = !t->vforked;
	return sync_image_note(t);
}

int sync_thread_ended(struct sync_thread *t)
{
	struct sync_process *p = t->process;
	int err = 0;
	u32 i;

	if (t->ended)
		return 0;
	t->ended = true;
	sync_wait_over(t);
	err = sync_robust_end(t);
	for (i = 0; i < p->nchildren && !err; i++) {
		if (p->child[i].index != t->index)
			continue;
		/* The parent waits in vfork() for this release. */
		if (t->vforked)
			err = sync_release(t, SYNC_CHILD, t->tid);
		if (!err && p->child[i].child_tid)
			err = sync_release(t, SYNC_WORD, p->child[i].child_tid / 4);
		p->child[i] = p->child[--p->nchildren];
		break;
	}
	if (!err)
		err = sync_flush(t);
	if (!err)
		err = sync_image_end(t);
	if (p->detector)
		race_thread_end(p->detector, t->index);
	return err;
}

void sync_free(struct sync_events *f)
{
	struct sync_process *p;
	size_t i;

	for (i = 0; i < f->nthreads; i++) {
		if (!f->thread[i])
			continue;
		free(f->thread[i]->stack);
		sync_functions_free(f->thread[i]);
		free(f->thread[i]);
	}
	free(f->thread);
	f->thread = NULL;
	f->nthreads = 0;
	sync_images_free(f);
	sync_serials_free(&f->process_by);
	while ((p = f->processes)) {
		f->processes = p->next;
		sync_objects_free(&p->objects, p->detector);
		sync_regions_free(&p->regions);
		race_detector_free(p->detector);
		race_rows_free(p->rows);
		free(p->child);
		free(p->of);
		free(p->stack);
		free(p->waiter);
		free(p);
	}
}
