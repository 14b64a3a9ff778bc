// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "wakeups.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

#define GROUP		100u	/* futexes of one waiter thread; futex_waitv(2) accepts up to 128 */
#define GROUPS		64u
#define WITHOUT_NS	2000000l	/* polling interval on kernels without futex_waitv(2) */

/*
 * A watched futex.  Protected by the lock of its group (the futexes of one waiter thread), since
 * the owner can otherwise remove and unmap the futex at any time.
 */
struct wakeup {
	uint32_t *futex;	/* NULL: entry is free */
	uint32_t seen;		/* last value read from the futex */
	bool woken;		/* the futex has changed since the last wakeups_take() */
	void *owner;
};

struct group {
	struct wakeups *all;
	pthread_mutex_t lock;
	pthread_t waiter;
	uint32_t changed;	/* futex that wakes the waiter when its list has changed */
	bool ended;
	struct wakeup wakeup[GROUP];
};

struct wakeups {
	int event;
	struct group *group[GROUPS];	/* used by the loop's thread only */
};

static void look_again(struct group *g)
{
	__atomic_fetch_add(&g->changed, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &g->changed, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Fill in @w for futex_waitv().  The caller holds the group's lock.  Return: number of entries. */
static unsigned int list(struct group *g, struct futex_waitv *w)
{
	unsigned int i, n = 1;

	w[0] = (struct futex_waitv){
		.val = g->changed, .uaddr = (uintptr_t)&g->changed, .flags = FUTEX_32,
	};
	for (i = 0; i < GROUP; i++)
		if (g->wakeup[i].futex)
			w[n++] = (struct futex_waitv){
				.val = g->wakeup[i].seen, .uaddr = (uintptr_t)g->wakeup[i].futex,
				.flags = FUTEX_32,
			};
	return n;
}

/* Mark futexes that have changed; the caller holds the group's lock.  Return: true if any has. */
static bool listen_all(struct group *g)
{
	bool any = false;
	uint32_t now;
	unsigned int i;

	for (i = 0; i < GROUP; i++) {
		struct wakeup *b = &g->wakeup[i];

		if (!b->futex)
			continue;
		now = __atomic_load_n(b->futex, __ATOMIC_ACQUIRE);
		if (now == b->seen)
			continue;
		b->seen = now;
		b->woken = any = true;
	}
	return any;
}

static void *waiter(void *arg)
{
	const struct timespec without = { .tv_nsec = WITHOUT_NS };
	struct futex_waitv w[GROUP + 1];
	const uint64_t one = 1;
	struct group *g = arg;
	unsigned int n;

	for (;;) {
		pthread_mutex_lock(&g->lock);
		if (g->ended)
			break;
		n = list(g, w);
		pthread_mutex_unlock(&g->lock);
		/* EFAULT: a futex was removed and unmapped meanwhile; the next list omits it. */
		if (syscall(SYS_futex_waitv, w, n, 0, NULL, CLOCK_MONOTONIC) < 0 &&
		    errno == ENOSYS)
			nanosleep(&without, NULL);
		pthread_mutex_lock(&g->lock);
		if (listen_all(g) && write(g->all->event, &one, sizeof(one)) < 0)
			errno = 0;	/* counter full: the eventfd is readable already */
		pthread_mutex_unlock(&g->lock);
	}
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

static struct group *group_new(struct wakeups *b)
{
	struct group *g = calloc(1, sizeof(*g));
	sigset_t all, old;
	int err;

	if (!g)
		return NULL;
	g->all = b;
	pthread_mutex_init(&g->lock, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&g->waiter, NULL, waiter, g);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err)
		return g;
	pthread_mutex_destroy(&g->lock);
	free(g);
	return NULL;
}

int wakeups_open(struct wakeups **out)
{
	struct wakeups *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (b->event < 0) {
		free(b);
		return -errno;
	}
	*out = b;
	return 0;
}

void wakeups_close(struct wakeups *b)
{
	unsigned int i;

	for (i = 0; i < GROUPS && b->group[i]; i++) {
		struct group *g = b->group[i];

		pthread_mutex_lock(&g->lock);
		g->ended = true;
		pthread_mutex_unlock(&g->lock);
		look_again(g);
		pthread_join(g->waiter, NULL);
		pthread_mutex_destroy(&g->lock);
		free(g);
	}
	close(b->event);
	free(b);
}

int wakeups_fd(const struct wakeups *b)
{
	return b->event;
}

static int add_to(struct group *g, uint32_t *futex, void *owner)
{
	int i, n = -1;

	pthread_mutex_lock(&g->lock);
	for (i = 0; n < 0 && i < (int)GROUP; i++) {
		if (g->wakeup[i].futex)
			continue;
		g->wakeup[i] = (struct wakeup){
			.futex = futex, .owner = owner,
			.seen = __atomic_load_n(futex, __ATOMIC_ACQUIRE),
		};
		n = i;
	}
	pthread_mutex_unlock(&g->lock);
	if (n >= 0)
		look_again(g);
	return n;
}

int wakeups_add(struct wakeups *b, uint32_t *futex, void *owner)
{
	unsigned int i;
	int n;

	for (i = 0; i < GROUPS; i++) {
		if (!b->group[i])
			b->group[i] = group_new(b);
		if (!b->group[i])
			return -EAGAIN;
		n = add_to(b->group[i], futex, owner);
		if (n >= 0)
			return (int)(i * GROUP) + n;
	}
	return -ENOSPC;
}

void wakeups_remove(struct wakeups *b, int n)
{
	struct group *g = b->group[n / GROUP];

	pthread_mutex_lock(&g->lock);
	g->wakeup[n % GROUP] = (struct wakeup){ 0 };
	pthread_mutex_unlock(&g->lock);
	look_again(g);
}

/* Find the next changed futex from number @n on and clear its mark.  Return: its number, or -1. */
static int next_woken(struct wakeups *b, int n, void **owner)
{
	for (; n < (int)(GROUPS * GROUP) && b->group[n / GROUP]; n++) {
		struct group *g = b->group[n / GROUP];
		struct wakeup *w = &g->wakeup[n % GROUP];
		bool woken;

		pthread_mutex_lock(&g->lock);
		woken = w->woken;
		w->woken = false;
		*owner = w->owner;
		pthread_mutex_unlock(&g->lock);
		if (woken)
			return n;
	}
	return -1;
}

void wakeups_take(struct wakeups *b, void (*woken)(void *owner))
{
	uint64_t count;
	void *owner;
	int n;

	if (read(b->event, &count, sizeof(count)) < 0)
		return;
	for (n = next_woken(b, 0, &owner); n >= 0; n = next_woken(b, n + 1, &owner))
		woken(owner);
}
