// SPDX-License-Identifier: LGPL-2.1-or-later
/* Order between threads: releases, acquires, joins, and barriers of all threads. */
#include "predict_events.h"

int sync_acquire(struct sync_thread *t, enum sync_object_kind kind, u64 id)
{
	struct sync_object *o = sync_object_find(&t->process->objects, kind, id);
	int err = o ? sync_flush(t) : 0;

	if (o && !err)
		err = race_acquire(t->process->detector, t->index, &o->sync);
	return o && !err ? sync_predict_acquire(t, o) : err;
}

int sync_release(struct sync_thread *t, enum sync_object_kind kind, u64 id)
{
	struct sync_object *o = sync_object_get(&t->process->objects, kind, id);
	int err = sync_flush(t);

	if (!o)
		return sync_no_memory();
	if (!err)
		err = race_release(t->process->detector, t->index, &o->sync);
	return err ? err : sync_predict_release(t, o);
}

int sync_acquire_all(struct sync_thread *t, enum sync_object_kind kind)
{
	const struct sync_objects *o = &t->process->objects;
	struct sync_object *at;
	int err = sync_flush(t);
	u32 i;

	for (i = 0; i < o->nbuckets; i++)
		for (at = o->bucket[i]; at && !err; at = at->next) {
			if (at->kind != kind || (kind == SYNC_SIGNAL &&
						 at->id >> 32 != t->image->first_number))
				continue;
			err = race_acquire(t->process->detector, t->index, &at->sync);
			if (!err)
				err = sync_predict_acquire(t, at);
		}
	return err;
}

int sync_forget(struct sync_thread *t, u64 address, u64 size)
{
	int err = sync_flush(t);

	sync_predict_forget(t->process, address, size);
	sync_predict_forget(t->process, address | SYNC_OBJECTS, size);
	if (!err)
		err = race_forget_by(t->process->detector, t->index, address, size);
	return err ? err : race_forget_by(t->process->detector, t->index,
					  address | SYNC_OBJECTS, size);
}

static bool is_among(const struct sync_thread *t, const struct sync_thread *o, bool image)
{
	return o && o->begun && o->process == t->process && o->life == o->process->lives &&
	       (!image || o->image == t->image);
}

/*
 * Join all ended threads of the process, or of @t's image only: @t may have waited for any of them.
 */
static int join_ended(struct sync_thread *t, bool image)
{
	struct sync_events *f = t->sync;
	struct sync_thread *o;
	int err = 0;
	size_t i;

	for (i = 0; i < f->nthreads && !t->ended && !err; i++) {
		o = f->thread[i];
		if (!is_among(t, o, image) || !o->ended || o->joined)
			continue;
		o->joined = true;
		err = race_thread_join(t->process->detector, t->index, o->index);
	}
	return err;
}

int sync_barrier_all(struct sync_thread *t, bool image)
{
	struct sync_events *f = t->sync;
	struct race_sync all = { 0 };
	int err = sync_flush(t);
	struct sync_thread *o;
	size_t i;

	if (!err)
		err = join_ended(t, image);
	/*
	 * In the first pass the filters of other threads begin no interval here and may drop their
	 * later accesses as redundant. Ordering the earlier accesses could then hide races, so do
	 * not.
	 */
	if (f->pass == SYNC_FIRST)
		return err;
	for (i = 0; i < 2 * f->nthreads && !err; i++) {
		o = f->thread[i % f->nthreads];
		if (!is_among(t, o, image) || o->ended)
			continue;
		if (i < f->nthreads)
			err = race_release(t->process->detector, o->index, &all);
		else
			err = race_acquire(t->process->detector, o->index, &all);
	}
	race_sync_free(t->process->detector, &all);
	return err ? err : sync_predict_barrier_all(t);
}
