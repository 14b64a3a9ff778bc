// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Races between threads that hold locks of all kinds, each on a variable of its own.
 *
 * Both threads access each variable once, the first one with the locks that its comment names,
 * the second one with none, later; in the same order, or reading one would order the rest.
 */
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive, waited = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static mtx_t c11;
static struct { int x; pthread_mutex_t lock; } *block;
static int own;

static int v_none, v_mutex, v_two, v_left, v_recursive, v_wait, v_read, v_write, v_spin, v_c11;
static int v_heap, v_try, v_busy, v_timed, v_own, v_before_own;

static void *busy(void *arg)
{
	if (!pthread_mutex_trylock(&outer))
		exit(1);
	v_busy++;	/* none */
	return arg;
}

static void try_locks(void)
{
	struct timespec t;

	pthread_mutex_trylock(&plain);
	v_try++;	/* mutex plain */
	pthread_mutex_unlock(&plain);
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec++;
	pthread_mutex_timedlock(&plain, &t);
	v_timed++;	/* mutex plain */
	pthread_mutex_unlock(&plain);
}

static void nested(void)
{
	pthread_mutex_lock(&outer);
	pthread_mutex_lock(&plain);
	v_two++;	/* mutex outer, mutex plain */
	pthread_mutex_unlock(&outer);
	v_mutex++;	/* mutex plain */
	pthread_mutex_unlock(&plain);
	v_left++;	/* none */
	pthread_mutex_lock(&recursive);
	pthread_mutex_lock(&recursive);
	pthread_mutex_unlock(&recursive);
	v_recursive++;	/* mutex recursive */
	pthread_mutex_unlock(&recursive);
}

static void wait_for_it(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	pthread_mutex_lock(&waited);
	pthread_cond_timedwait(&condition, &waited, &t); /* the wait */
	v_wait++;	/* mutex waited */
	pthread_mutex_unlock(&waited);
}

static void others(void)
{
	pthread_rwlock_rdlock(&table);
	v_read++;	/* read-write lock table for reading */
	pthread_rwlock_unlock(&table);
	pthread_rwlock_wrlock(&table);
	v_write++;	/* read-write lock table */
	pthread_rwlock_unlock(&table);
	pthread_spin_lock(&spin);
	v_spin++;	/* spin lock spin */
	pthread_spin_unlock(&spin);
	mtx_lock(&c11);
	v_c11++;	/* mutex c11 */
	mtx_unlock(&c11);
	pthread_mutex_lock(&block->lock);
	v_heap++;	/* mutex in a block of 48 */
	pthread_mutex_unlock(&block->lock);
}

static void *first(void *arg)
{
	v_none++;	/* none */
	nested();
	try_locks();
	wait_for_it();
	others();
	v_before_own++;	/* none */
	while (__atomic_exchange_n(&own, 1, __ATOMIC_ACQUIRE))
		;
	v_own++;	/* maybe own */
	__atomic_store_n(&own, 0, __ATOMIC_RELEASE);
	return arg;
}

static void *second(void *arg)
{
	int *all[] = {
		&v_none, &v_two, &v_mutex, &v_left, &v_recursive, &v_try, &v_timed, &v_wait,
		&v_read, &v_write, &v_spin, &v_c11, &v_heap, &v_before_own, &v_own, &v_busy,
	};
	size_t i;

	usleep(50000);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		(*all[i])--;
	return arg;
}

int main(void)
{
	pthread_mutexattr_t attr;
	pthread_t t[3];
	int i;

	block = malloc(sizeof(*block));
	pthread_mutex_init(&block->lock, NULL);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&recursive, &attr);
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	mtx_init(&c11, mtx_plain);
	pthread_mutex_lock(&outer);
	pthread_create(&t[2], NULL, busy, NULL);
	usleep(20000);
	pthread_mutex_unlock(&outer);
	pthread_create(&t[0], NULL, first, NULL);
	pthread_create(&t[1], NULL, second, NULL);
	for (i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
