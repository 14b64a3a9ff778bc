// SPDX-License-Identifier: LGPL-2.1-or-later
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/analyze/predict/predict.h"
#include "predict_events.h"

#define LIMIT	(2ull << 30)	/* memory limit of prediction in bytes, for each process */

/* ---- prediction of processes ---- */

struct sync_thread_log *sync_thread_log_of(struct sync_events *f, u32 process)
{
	struct sync_thread_log *u;

	for (u = f->futures; u; u = u->next)
		if (u->process == process)
			return u;
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	if (predict_create(&u->predict, LIMIT)) {
		free(u);
		return NULL;
	}
	u->process = process;
	u->next = f->futures;
	f->futures = u;
	return u;
}

void sync_thread_logs_again(struct sync_events *f)
{
	struct sync_thread_log *u;

	for (u = f->futures; u; u = u->next) {
		predict_again(u->predict);
		u->nraced = u->ntried = 0;
	}
}

void sync_thread_logs_free(struct sync_events *f)
{
	struct sync_thread_log *u;

	while ((u = f->futures)) {
		f->futures = u->next;
		predict_free(u->predict);
		free(u->place);
		free(u);
	}
}

/* ---- places in the code ---- */

/* Find or add a place in the code. Return: its number; 0: no memory. */
static u32 place_of(struct sync_thread_log *u, const u64 pc[SYNC_PLACE])
{
	u64 h = pc[0] ^ pc[1] << 7 ^ pc[2] << 13 ^ pc[3] << 19;
	u32 *head = &u->head[h * 0x9e3779b97f4a7c15ull >> 52], i, room;
	void *more;

	for (i = *head; i; i = u->place[i - 1].next)
		if (!memcmp(u->place[i - 1].pc, pc, sizeof(u->place[0].pc)))
			return i;
	if (u->nplaces == u->places_room) {
		room = u->places_room ? 2 * u->places_room : 256;
		more = realloc(u->place, room * sizeof(*u->place));
		if (!more)
			return 0;
		u->place = more;
		u->places_room = room;
	}
	memcpy(u->place[u->nplaces].pc, pc, sizeof(u->place[0].pc));
	u->place[u->nplaces].next = *head;
	return *head = ++u->nplaces;
}

static u32 place_of_pc(struct sync_thread_log *u, u64 pc)
{
	return place_of(u, (u64[SYNC_PLACE]){ pc });
}

/* Get the place of the innermost call by the program's own code: the call and its callers. */
u32 sync_predict_place(struct sync_thread *t, u32 depth)
{
	u64 pc[SYNC_PLACE] = { 0 };
	u32 i, n = 0;

	if (depth > t->stack_room)
		return 0;
	for (i = depth; i; i--)
		if (sync_code(t->sync, t->image, t->stack[i - 1].pc) == DEP_CODE_PROGRAM)
			break;
	for (i = i ? i : depth; i && n < SYNC_PLACE; i--)
		pc[n++] = t->stack[i - 1].pc;
	return n ? place_of(t->process->future, pc) : 0;
}

/* Return: 0 for locks taken to load libraries or to create threads, which are not reported. */
u32 sync_predict_lock_place(struct sync_thread *t, const struct sync_frame *f)
{
	enum dep_code code = DEP_CODE_LIBRARY;
	u32 i;

	for (i = f->depth <= t->stack_room ? f->depth : 0; i && code != DEP_CODE_PROGRAM; i--) {
		code = sync_code(t->sync, t->image, t->stack[i - 1].pc);
		if (code == DEP_CODE_LOADER || code == DEP_CODE_THREADS)
			return 0;
	}
	return sync_predict_place(t, f->depth);
}

/* ---- memory accesses ---- */

const struct sync_frame *sync_function_at_hand(const struct sync_thread *t)
{
	const struct sync_calls *c = &t->calls;

	return c->n && c->frame[c->n - 1].level == c->level ? &c->frame[c->n - 1] : NULL;
}

bool sync_in_lock(const struct sync_thread *t, u64 address)
{
	const struct sync_frame *f = sync_function_at_hand(t);
	u32 which, size = sizeof(pthread_mutex_t);

	if (!f)
		return false;
	which = sync_may_block(f->function);
	if (f->function == DEP_F_SPIN_LOCK || f->function == DEP_F_SPIN_TRYLOCK ||
	    f->function == DEP_F_SPIN_UNLOCK)
		size = sizeof(pthread_spinlock_t);
	else if (!which && f->function != DEP_F_MUTEX_UNLOCK &&
		 sync_acquires(f->function) != SYNC_TAKES_MUTEX)
		return false;
	return f->known >> which & 1 && address - f->arg[which] < size;
}

void sync_predict_report(void *arg, const struct race_found *found)
{
	struct sync_process *p = arg;
	struct sync_thread_log *u = p->future;
	u32 i = 0;

	race_rows_report(p->rows, found);
	while (i < u->nraced && (u->raced[i].thread != found->prior.thread ||
				 u->raced[i].epoch != found->prior.epoch >> 16))
		i++;
	if (i == sizeof(u->raced) / sizeof(u->raced[0])) {
		u->many = true;
		return;
	}
	u->raced[i].thread = found->prior.thread;
	u->raced[i].epoch = found->prior.epoch >> 16;
	u->nraced += i == u->nraced;
}

/*
 * For two racing accesses it is unknown which came first and which saw the other's value. So
 * prediction treats each as needing the other and all earlier events of its thread. This function
 * adds the needs of the current access.
 */
static int need_before(struct sync_thread *t, u32 place)
{
	struct sync_thread_log *u = t->process->future;
	int err = 0;
	u32 i;

	for (i = 0; i < u->nraced && !err; i++)
		err = predict_after(u->predict, t->index, u->raced[i].thread, place);
	return err;
}

static int need_behind(struct sync_thread *t)
{
	struct sync_thread_log *u = t->process->future;
	u64 since;
	int err = 0;
	u32 i;

	for (i = 0; i < u->nraced && !err; i++) {
		since = predict_since(u->predict, u->raced[i].thread, u->raced[i].epoch);
		err = predict_needs(u->predict, u->raced[i].thread, since, t->index);
	}
	if (u->many)
		predict_stop(u->predict);
	u->nraced = 0;
	u->many = false;
	return err;
}

/*
 * Cleanup handlers of a cancelled condition wait run with the mutex locked again, at an unknown
 * time before. Prediction ignores the events from here on.
 */
void sync_predict_note(struct sync_thread *t, u64 pc, u32 flags)
{
	if (t->held.waiting == t->calls.level + 1 && !(flags & (RACE_SYSCALL | SYNC_OBJECT)) &&
	    sync_code(t->sync, t->image, pc) == DEP_CODE_PROGRAM)
		predict_stop(t->process->future->predict);
}

static int one(struct sync_thread *t, const struct race_ref *r)
{
	struct sync_thread_log *u = t->process->future;
	struct race_detector *d = t->process->detector;
	u32 place = place_of_pc(u, r->pc);
	int err;

	err = predict_interval(u->predict, t->index, race_epoch(d, t->index) >> 16);
	if (!err)
		err = race_accesses(d, t->index, r, 1);
	if (!err)
		err = need_before(t, place);
	if (!err)
		err = predict_access(u->predict, t->index, &(struct predict_access){
			.pc = r->pc, .address = r->address, .size = r->size, .flags = r->flags,
			.place = place,
		}, false);
	return err ? err : need_behind(t);
}

int sync_predict_flush(struct sync_thread *t, u32 n)
{
	int err = 0;
	u32 i;

	for (i = 0; i < n && !err; i++)
		err = one(t, &t->ref[i]);
	return err;
}

int sync_predict_access(struct sync_thread *t, u64 pc, u64 address, u64 size, u32 flags,
			bool known)
{
	struct sync_thread_log *u = t->process->future;
	u32 place;
	int err;

	if (!u)
		return 0;
	place = place_of_pc(u, pc);
	err = predict_interval(u->predict, t->index,
			       race_epoch(t->process->detector, t->index) >> 16);
	if (!err)
		err = need_before(t, place);
	if (!err)
		err = predict_access(u->predict, t->index, &(struct predict_access){
			.pc = pc, .address = address, .size = size, .flags = flags, .place = place,
		}, known);
	return err ? err : need_behind(t);
}

void sync_predict_forget(struct sync_process *p, u64 address, u64 size)
{
	if (p->future)
		predict_forget(p->future->predict, address, size);
}

/* ---- order of threads ---- */

/* Is @o part of a pthreads lock? sync_predict_lock() and sync_predict_unlock() handle these. */
static bool is_lock(struct sync_thread *t, const struct sync_object *o)
{
	return (o->kind == SYNC_WORD && sync_in_lock(t, o->id * 4)) ||
	       (o->kind == SYNC_FUTEX && sync_in_lock(t, o->id)) ||
	       o->kind == SYNC_WRITER || o->kind == SYNC_READERS;
}

int sync_predict_acquire(struct sync_thread *t, struct sync_object *o)
{
	struct sync_thread_log *u = t->process->future;

	if (!u || is_lock(t, o))
		return 0;
	return predict_acquire(u->predict, t->index, &o->predict, sync_predict_place(t, t->depth));
}

/* If the thread is in a condition wait, this release unlocks its mutex. */
static int leave_for_wait(struct sync_thread *t)
{
	const struct sync_frame *f = sync_function_at_hand(t);

	return !sync_may_block(f->function) ? 0 :
	       predict_unlock(t->process->future->predict, t->index, f->arg[1],
			      sync_predict_place(t, f->depth));
}

int sync_predict_release(struct sync_thread *t, struct sync_object *o)
{
	struct sync_thread_log *u = t->process->future;

	if (!u)
		return 0;
	if (is_lock(t, o))
		return o->kind == SYNC_WORD ? leave_for_wait(t) : 0;
	return predict_release(u->predict, t->index, &o->predict, sync_predict_place(t, t->depth));
}

int sync_predict_barrier_all(struct sync_thread *t)
{
	struct sync_events *f = t->sync;
	struct sync_thread_log *u = t->process->future;
	struct predict_sync all = { 0 };
	struct sync_thread *o;
	int err = 0;
	size_t i;

	for (i = 0; u && i < 2 * f->nthreads && !err; i++) {
		o = f->thread[i % f->nthreads];
		if (!o || !o->begun || o->ended || o->process != t->process)
			continue;
		if (i < f->nthreads)
			err = predict_release(u->predict, o->index, &all, 0);
		else
			err = predict_acquire(u->predict, o->index, &all, 0);
	}
	predict_sync_free(&all);
	return err;
}

int sync_predict_thread(struct sync_process *p, u32 index, const struct sync_thread *parent)
{
	struct sync_thread *t = (struct sync_thread *)parent;

	if (!p->future)
		return 0;
	return predict_thread(p->future->predict, index, t ? t->index : RACE_NO_THREAD,
			      t ? sync_predict_place(t, t->depth) : 0);
}

void sync_predict_gap(struct sync_thread *t)
{
	if (t->process->future)
		predict_stop(t->process->future->predict);
}
