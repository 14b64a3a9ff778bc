// SPDX-License-Identifier: LGPL-2.1-or-later
#include "thread_list.h"

static struct lock threads_lock;
static struct tls *threads, *retired;

static void enlist(struct tls *t)
{
	t->group->nthreads++;
	t->next = threads;
	t->pprev = &threads;
	if (threads)
		threads->pprev = &t->next;
	threads = t;
}

static void delist(struct tls *t)
{
	if (!--t->group->nthreads)
		heap_free(t->group, sizeof(*t->group));
	*t->pprev = t->next;
	if (t->next)
		t->next->pprev = t->pprev;
}

void thread_list_add(struct tls *t)
{
	lock(&threads_lock);
	enlist(t);
	unlock(&threads_lock);
}

void thread_list_retire(struct tls *t)
{
	lock(&threads_lock);
	delist(t);
	t->next = retired;
	retired = t;
	unlock(&threads_lock);
}

static struct tls *find_exited(void)
{
	for (struct tls **pp = &retired; *pp; pp = &(*pp)->next) {
		struct tls *t = *pp;

		if (__atomic_load_n(&t->gone, __ATOMIC_ACQUIRE)) {
			*pp = t->next;
			return t;
		}
	}
	return NULL;
}

struct tls *thread_list_reuse(void)
{
	struct tls *t;

	lock(&threads_lock);
	t = find_exited();
	unlock(&threads_lock);
	return t;
}

struct tls *thread_list_first(void)
{
	struct tls *t;

	lock(&threads_lock);
	t = threads;
	unlock(&threads_lock);
	return t;
}

void thread_list_forked(struct tls *t)
{
	threads = retired = NULL;
	t->group = heap_alloc(sizeof(*t->group));
	enlist(t);
}

void thread_list_lock_for_fork(int hold)
{
	if (hold)
		lock(&threads_lock);
	else
		unlock(&threads_lock);
}

u32 thread_each_other(const struct tls *t, u32 (*f)(struct tls *o, u32 arg), u32 arg)
{
	u32 sum = 0;

	lock(&threads_lock);
	for (struct tls *o = threads; o; o = o->next)
		if (o != t && o->group == t->group)
			sum += f(o, arg);
	unlock(&threads_lock);
	return sum;
}

void thread_each(void (*f)(struct tls *t))
{
	lock(&threads_lock);
	for (struct tls *t = threads; t; t = t->next)
		f(t);
	unlock(&threads_lock);
}
