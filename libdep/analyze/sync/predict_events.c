// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "libdep/analyze/predict/predict.h"
#include "predict_events.h"

#define LIMIT	(2ull << 30)	/* bytes, for each process */

/* ---- processes ---- */

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

/* ---- places ---- */

/* Return: the number of the place; 0: no memory. */
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

/* The place of the innermost call by the program's own code, with its callers. */
static u32 place_of_stack(struct sync_thread *t, u32 depth)
{
	u64 pc[SYNC_PLACE] = { 0 };
	u32 i, n = 0;

	if (depth > t->stack_room)
		return 0;
	for (i = depth; i; i--)
		if (sync_code(t->feed, t->image, t->stack[i - 1].pc) == DEP_CODE_PROGRAM)
			break;
	for (i = i ? i : depth; i && n < SYNC_PLACE; i--)
		pc[n++] = t->stack[i - 1].pc;
	return n ? place_of(t->process->future, pc) : 0;
}

/* 0 for locks taken to load libraries or to create threads, which are not reported. */
static u32 place_of_lock(struct sync_thread *t, const struct sync_frame *f)
{
	enum dep_code code = DEP_CODE_LIBRARY;
	u32 i;

	for (i = f->depth <= t->stack_room ? f->depth : 0; i && code != DEP_CODE_PROGRAM; i--) {
		code = sync_code(t->feed, t->image, t->stack[i - 1].pc);
		if (code == DEP_CODE_LOADER || code == DEP_CODE_THREADS)
			return 0;
	}
	return place_of_stack(t, f->depth);
}

/* ---- accesses ---- */

static const struct sync_frame *at_hand(const struct sync_thread *t)
{
	const struct sync_calls *c = &t->calls;

	return c->n && c->frame[c->n - 1].level == c->level ? &c->frame[c->n - 1] : NULL;
}

static bool waits(u32 f)
{
	return f >= DEP_F_COND_WAIT && f <= DEP_F_COND_CLOCKWAIT;
}

bool sync_in_lock(const struct sync_thread *t, u64 address)
{
	const struct sync_frame *f = at_hand(t);
	u32 which, size = sizeof(pthread_mutex_t);

	if (!f)
		return false;
	which = waits(f->function);
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
 * The order of two racing accesses is not known, nor which one saw the other's value. So each needs
 * the other one, and all that its thread did before.
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

/* Cleanup after a cancelled wait holds the mutex again, since when is not known: stop here. */
void sync_predict_note(struct sync_thread *t, u64 pc, u32 flags)
{
	if (t->held.waiting == t->calls.level + 1 && !(flags & (RACE_SYSCALL | SYNC_OBJECT)) &&
	    sync_code(t->feed, t->image, pc) == DEP_CODE_PROGRAM)
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
		err = predict_access(u->predict, t->index, r->pc, r->address, r->size, r->flags,
				     place, false);
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
		err = predict_access(u->predict, t->index, pc, address, size, flags, place, known);
	return err ? err : need_behind(t);
}

void sync_predict_forget(struct sync_process *p, u64 address, u64 size)
{
	if (p->future)
		predict_forget(p->future->predict, address, size);
}

/* ---- order ---- */

/* Is @o part of a lock? Locks are passed on by sync_predict_lock() and its like. */
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
	return predict_acquire(u->predict, t->index, &o->predict, place_of_stack(t, t->depth));
}

/* A condition wait unlocks its mutex here. */
static int leave_for_wait(struct sync_thread *t)
{
	const struct sync_frame *f = at_hand(t);

	return waits(f->function) ? sync_predict_unlock(t, f->arg[1], f) : 0;
}

int sync_predict_release(struct sync_thread *t, struct sync_object *o)
{
	struct sync_thread_log *u = t->process->future;

	if (!u)
		return 0;
	if (is_lock(t, o))
		return o->kind == SYNC_WORD ? leave_for_wait(t) : 0;
	return predict_release(u->predict, t->index, &o->predict, place_of_stack(t, t->depth));
}

int sync_predict_barrier_all(struct sync_thread *t)
{
	struct sync_events *f = t->feed;
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
			      t ? place_of_stack(t, t->depth) : 0);
}

void sync_predict_gap(struct sync_thread *t)
{
	if (t->process->future)
		predict_stop(t->process->future->predict);
}

/* ---- locks ---- */

/* Is another thread about to take the lock? It may have it already. */
static bool others_try(const struct sync_thread *t, u64 lock)
{
	const struct sync_events *f = t->feed;
	const struct sync_frame *g;
	size_t i;

	for (i = 0; i < f->nthreads; i++) {
		if (!f->thread[i] || f->thread[i] == t || f->thread[i]->process != t->process)
			continue;
		g = at_hand(f->thread[i]);
		if (g && ((sync_acquires(g->function) && g->known & 1 && g->arg[0] == lock) ||
			  (waits(g->function) && g->known & 2 && g->arg[1] == lock)))
			return true;
	}
	return false;
}

static int took_it(struct sync_thread *t, u64 lock)
{
	struct sync_thread_log *u = t->process->future;
	bool more = u->ntried && others_try(t, lock);
	u32 i, n = 0;
	int err = 0;

	for (i = 0; i < u->ntried; i++) {
		if (u->tried[i].lock == lock && !err)
			err = predict_needs(u->predict, u->tried[i].thread, u->tried[i].since,
					    t->index);
		if (u->tried[i].lock != lock || more)
			u->tried[n++] = u->tried[i];
	}
	u->ntried = n;
	return err;
}

int sync_predict_lock(struct sync_thread *t, u64 lock, bool reading, const struct sync_frame *f)
{
	struct sync_thread_log *u = t->process->future;
	struct sync_object *o;
	int err;

	if (!u)
		return 0;
	o = sync_object_get(&t->process->objects, SYNC_TRIED, lock);
	if (!o)
		return sync_no_memory();
	err = sync_flush(t);
	if (!err)
		err = predict_lock(u->predict, t->index, lock, reading, place_of_lock(t, f));
	if (!err)
		err = predict_release(u->predict, t->index, &o->predict, 0);
	return err ? err : took_it(t, lock);
}

int sync_predict_unlock(struct sync_thread *t, u64 lock, const struct sync_frame *f)
{
	struct sync_thread_log *u = t->process->future;
	int err = u ? sync_flush(t) : 0;

	if (!u || err)
		return err;
	return predict_unlock(u->predict, t->index, lock, place_of_stack(t, f->depth));
}

int sync_predict_tried(struct sync_thread *t, u64 lock, bool dead)
{
	struct sync_thread_log *u = t->process->future;
	struct sync_object *o;
	int err;

	if (!u)
		return 0;
	err = sync_flush(t);
	if (!err)
		err = predict_tried(u->predict, lock);
	o = sync_object_find(&t->process->objects, SYNC_TRIED, lock);
	if (o && !err)
		err = predict_acquire(u->predict, t->index, &o->predict, 0);
	o = sync_object_find(&t->process->objects, SYNC_WORD, lock / 4);
	if (dead && o && !err)
		err = predict_acquire(u->predict, t->index, &o->predict, 0);
	if (err || dead || !others_try(t, lock))
		return err;
	if (u->ntried == sizeof(u->tried) / sizeof(u->tried[0])) {
		predict_stop(u->predict);
		return 0;
	}
	u->tried[u->ntried].lock = lock;
	u->tried[u->ntried].since = predict_now(u->predict, t->index);
	u->tried[u->ntried++].thread = t->index;
	return 0;
}

/* ---- system calls ---- */

/* Calls whose result does not depend on other threads, or whose order is known otherwise. */
static bool is_alone(u64 nr)
{
	static const u16 calls[] = {
		SYS_futex, SYS_nanosleep, SYS_clock_nanosleep, SYS_clock_gettime,
		SYS_clock_getres, SYS_gettimeofday, SYS_time, SYS_getpid, SYS_gettid, SYS_getppid,
		SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_sched_yield, SYS_getcpu,
		SYS_mmap, SYS_munmap, SYS_mprotect, SYS_madvise, SYS_brk, SYS_mremap,
		SYS_rt_sigprocmask, SYS_sigaltstack, SYS_rt_sigreturn, SYS_set_robust_list,
		SYS_rseq, SYS_clone, SYS_clone3, SYS_fork, SYS_vfork, SYS_exit, SYS_exit_group,
		SYS_arch_prctl, SYS_set_tid_address, SYS_getrandom, SYS_uname,
	};
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i] == nr)
			return true;
	return false;
}

/*
 * A successful pwrite() tells the thread nothing about others. Other writes may have waited for a
 * reader (pipes, sockets), and the kind of file is not known.
 */
static bool tells_nothing(const struct adept_ev_syscall *c)
{
	return (c->nr == SYS_pwrite64 || c->nr == SYS_pwritev) && (s64)c->result > 0;
}

int sync_predict_call(struct sync_thread *t, const struct adept_ev_syscall *c)
{
	struct sync_thread_log *u = t->process->future;
	struct sync_object *o;
	u32 place;
	int err;

	if (!u || is_alone(c->nr))
		return 0;
	o = sync_object_get(&t->process->objects, SYNC_KERNEL, 0);
	err = sync_flush(t);
	if (err || !o)
		return err ? err : sync_no_memory();
	place = place_of_stack(t, t->depth);
	if (!tells_nothing(c))
		err = predict_acquire(u->predict, t->index, &o->predict, place);
	return err ? err : predict_release(u->predict, t->index, &o->predict, place);
}
