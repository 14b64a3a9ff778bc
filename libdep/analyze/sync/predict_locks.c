// SPDX-License-Identifier: LGPL-2.1-or-later
/* Locks and system calls in race prediction. */
#include <sys/syscall.h>

#include "libdep/analyze/predict/predict.h"
#include "predict_events.h"

/* Is another thread in a function that takes the lock? It may have the lock already. */
static bool others_try(const struct sync_thread *t, u64 lock)
{
	const struct sync_events *f = t->sync;
	const struct sync_frame *g;
	size_t i;

	for (i = 0; i < f->nthreads; i++) {
		if (!f->thread[i] || f->thread[i] == t || f->thread[i]->process != t->process)
			continue;
		g = sync_function_at_hand(f->thread[i]);
		if (g && ((sync_acquires(g->function) && g->known & 1 && g->arg[0] == lock) ||
			  (sync_may_block(g->function) && g->known & 2 && g->arg[1] == lock)))
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
		err = predict_lock(u->predict, t->index, lock, reading,
				   sync_predict_lock_place(t, f));
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
	return predict_unlock(u->predict, t->index, lock, sync_predict_place(t, f->depth));
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

/*
 * Does the result of the system call not depend on other threads, or only in a way that is known
 * otherwise?
 */
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
 * Is the call's result the same whatever other threads do? That of a successful pwrite() is. Other
 * writes may have waited for a reader (pipes, sockets), and the kind of file is unknown.
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
	place = sync_predict_place(t, t->depth);
	if (!tells_nothing(c))
		err = predict_acquire(u->predict, t->index, &o->predict, place);
	return err ? err : predict_release(u->predict, t->index, &o->predict, place);
}
