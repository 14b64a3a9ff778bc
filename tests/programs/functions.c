// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  Calls of watched functions in all ways, in four threads, with signals in
 * between.  functions ROUNDS: prints each with what it was passed and what it returned, for
 * tests/functions.sh:
 *
 *	TID NAME ARGUMENT... = RESULT		RESULT: -, left (by longjmp)
 *
 * What a thread does between two calls of pthread_spin_destroy() is all there.
 * Flags: -fno-builtin -rdynamic
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "common.h"

#define THREADS	4

struct call {
	const char *name;
	unsigned int n, bytes, left;	/* bytes of the result, 0: none */
	unsigned long arg[4], result;
};

struct log {
	struct call *call;
	unsigned long n, room;
	int tid;
};

static unsigned long rounds = 20;
static __thread struct log *calls, *posts;
static struct log logs[2 * (THREADS + 1)];
static pthread_barrier_t barrier;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t posted;
static void *(*from_dl)(size_t);

static struct call *begin(struct log *l, const char *name, unsigned int n,
			  const unsigned long *arg)
{
	struct call *c = &l->call[l->n++];

	CHECK(l->n <= l->room);
	c->name = name;
	c->n = n;
	c->left = 1;
	for (unsigned int i = 0; i < n; i++)
		c->arg[i] = arg[i];
	return c;
}

static void end(struct call *c, unsigned long result, unsigned int bytes)
{
	c->left = 0;
	c->bytes = bytes;
	c->result = result;
}

#define ARGS(...)	((unsigned long[]){ __VA_ARGS__ })
#define U(x)		((unsigned long)(x))

/* Note a call of @name by @expr with these arguments; 8 bytes of result or 4. */
#define AS(name, expr, size, ...) ({						\
	struct call *c_ = begin(calls, #name, sizeof(ARGS(__VA_ARGS__)) / 8, ARGS(__VA_ARGS__)); \
	__typeof__(expr) r_ = expr;						\
	end(c_, U(r_), size);							\
	r_; })
#define PTR(name, expr, ...)	AS(name, expr, 8, __VA_ARGS__)
#define INT(name, arg)		AS(name, name(arg), 4, U(arg))

static void give_back(void *p)
{
	end(begin(calls, "free", 1, ARGS(U(p))), 0, 0);
	free(p);
}

/* A function of the program itself; jumps to malloc. */
__attribute__((noinline, noclone)) void *pvalloc(size_t n)
{
	return malloc(n + 1);
}

__attribute__((noinline, noclone)) static void *wrapped(size_t n)
{
	return malloc(n);
}

__attribute__((noinline, noclone)) static void *deep(unsigned int depth)
{
	void *p = PTR(malloc, malloc(depth * 24), depth * 24), *q;

	if (depth) {
		q = deep(depth - 1);
		give_back(p);
		p = q;
	}
	return p;
}

static __thread sigjmp_buf out;

/* Nowhere near memory: realloc faults, and is left. */
#define BAD	((void *)48)

__attribute__((noinline, noclone)) static void *may_leave(void *p)
{
	char frame[256];

	__asm__ volatile("" : : "r"(frame) : "memory");
	p = PTR(realloc, realloc(p, 100), U(p), 100);
	__asm__ volatile("" : : "r"(frame) : "memory");
	return p;
}

static void fault(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

static void tick(int sig)
{
	int err = errno;
	struct call *c;

	(void)sig;
	/* Not every thread has a log yet, or one with room. */
	if (posts && posts->n < posts->room) {
		c = begin(posts, "sem_post", 1, ARGS(U(&posted)));
		end(c, (unsigned int)sem_post(&posted), 4);
	}
	errno = err;
}

static void memory(unsigned long i)
{
	void *(*volatile pointer)(size_t) = malloc;
	void *(*volatile again)(void *, size_t) = realloc;
	void *p[10], *q = NULL;	/* not changed between setjmp and longjmp */

	p[0] = PTR(malloc, malloc(i), i);
	p[1] = PTR(calloc, calloc(i, 3), i, 3);
	p[2] = PTR(malloc, pointer(i + 7), i + 7);
	p[3] = PTR(malloc, wrapped(40), 40);
	p[4] = PTR(malloc, from_dl(41), 41);
	p[5] = PTR(aligned_alloc, aligned_alloc(64, 128), 64, 128);
	p[6] = PTR(memalign, memalign(32, i), 32, i);
	p[7] = PTR(pvalloc, pvalloc(50), 50);
	p[0] = PTR(realloc, realloc(p[0], 3 * i), U(p[0]), 3 * i);
	p[1] = PTR(realloc, again(p[1], 500), U(p[1]), 500);
	p[2] = PTR(reallocarray, reallocarray(p[2], i, 2), U(p[2]), i, 2);
	p[8] = deep(i % 6);
	AS(posix_memalign, posix_memalign(&q, 64, 256), 4, U(&q), 64, 256);
	p[9] = q;
	if (!sigsetjmp(out, 1))
		may_leave(BAD);
	p[9] = may_leave(p[9]);
	for (int k = 0; k < 10; k++)
		give_back(p[k]);
}

static void locks(unsigned long i)
{
	struct timespec past = { 1, 0 };
	pthread_mutex_t m;
	pthread_cond_t c;
	sem_t s;

	AS(pthread_mutex_init, pthread_mutex_init(&m, NULL), 4, U(&m), 0);
	INT(pthread_mutex_lock, &m);
	INT(pthread_mutex_trylock, &m);
	AS(pthread_cond_init, pthread_cond_init(&c, NULL), 4, U(&c), 0);
	AS(pthread_cond_timedwait, pthread_cond_timedwait(&c, &m, &past), 4, U(&c), U(&m),
	   U(&past));
	INT(pthread_cond_signal, &c);
	INT(pthread_cond_broadcast, &c);
	INT(pthread_cond_destroy, &c);
	INT(pthread_mutex_unlock, &m);
	INT(pthread_mutex_destroy, &m);
	if (i % 3)
		INT(pthread_rwlock_rdlock, &rwlock);
	else
		INT(pthread_rwlock_wrlock, &rwlock);
	INT(pthread_rwlock_unlock, &rwlock);
	AS(sem_init, sem_init(&s, 0, 1), 4, U(&s), 0, 1);
	INT(sem_wait, &s);
	INT(sem_trywait, &s);
	INT(sem_destroy, &s);
	INT(pthread_barrier_wait, &barrier);
}

static void have_logs(unsigned int i)
{
	posts = &logs[2 * i + 1];
	calls = &logs[2 * i];
	calls->tid = posts->tid = gettid();
}

static void *work(void *arg)
{
	pthread_spinlock_t window;
	unsigned long i;

	have_logs((unsigned int)U(arg));
	pthread_spin_destroy(&window);
	for (i = 0; i < rounds; i++) {
		memory(i);
		locks(i);
	}
	pthread_spin_destroy(&window);
	return NULL;
}

static void print(const struct log *l)
{
	for (const struct call *c = l->call; c < l->call + l->n; c++) {
		printf("%d %s", l->tid, c->name);
		for (unsigned int i = 0; i < c->n; i++)
			printf(" %lx", c->arg[i]);
		if (c->left)
			printf(" = left\n");
		else if (!c->bytes)
			printf(" = -\n");
		else
			printf(" = %lx\n", c->bytes == 4 ? (unsigned int)c->result : c->result);
	}
}

int main(int argc, char **argv)
{
	const struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = { 0 };
	pthread_spinlock_t window;
	pthread_t t[THREADS];
	unsigned long i;

	if (argc > 1)
		rounds = strtoul(argv[1], NULL, 0);
	from_dl = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc");
	for (i = 0; i < 2 * (THREADS + 1); i++) {
		logs[i].room = 100 * rounds + 100;
		logs[i].call = calloc(logs[i].room, sizeof(*logs[i].call));
	}
	pthread_barrier_init(&barrier, NULL, THREADS);
	sem_init(&posted, 0, 0);
	signal(SIGSEGV, fault);
	signal(SIGALRM, tick);
	have_logs(THREADS);
	setitimer(ITIMER_REAL, &often, NULL);
	pthread_spin_destroy(&window);
	for (i = 0; i < THREADS; i++)
		CHECK(!AS(pthread_create, pthread_create(&t[i], NULL, work, (void *)i), 4,
			  U(&t[i]), 0, U(work), i));
	for (i = 0; i < THREADS; i++)
		CHECK(!AS(pthread_join, pthread_join(t[i], NULL), 4, t[i], 0));
	pthread_spin_destroy(&window);
	setitimer(ITIMER_REAL, &never, NULL);
	for (i = 0; argc > 1 && i < 2 * (THREADS + 1); i++)
		print(&logs[i]);
	mix(logs[0].n);
	return argc > 1 ? 0 : finish("functions");
}
