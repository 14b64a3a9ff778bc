// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Double-checked locking, correct with an atomic pointer, wrong with a plain one.  The data behind
 * the pointer races only in a thread that has already raced on the pointer, so the report has the
 * pointer.
 * tsan: right only, because it also reports the data
 */
#include <stdatomic.h>

#include "races.h"

struct thing {
	int value;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct thing the_thing;

#ifdef RACY
static struct thing *thing;

static NOINLINE struct thing *get(void)
{
	if (!thing) { /* RACE: pointer */
		pthread_mutex_lock(&lock);
		if (!thing) {
			the_thing.value = 1;
			thing = &the_thing; /* RACE: pointer variable=thing */
		}
		pthread_mutex_unlock(&lock);
		return &the_thing;
	}
	return &the_thing;
}
#else
static struct thing *_Atomic thing;

static NOINLINE struct thing *get(void)
{
	struct thing *t = atomic_load_explicit(&thing, memory_order_acquire);

	if (!t) {
		pthread_mutex_lock(&lock);
		t = atomic_load_explicit(&thing, memory_order_relaxed);
		if (!t) {
			t = &the_thing;
			t->value = 1;
			atomic_store_explicit(&thing, t, memory_order_release);
		}
		pthread_mutex_unlock(&lock);
	}
	return t;
}
#endif

static void *first(void *arg)
{
	USE(get());
	tell(1);
	return arg;
}

static void *second(void *arg)
{
	await(1);
	USE(get()->value);
	return arg;
}

int main(void)
{
	return both(first, second);
}
