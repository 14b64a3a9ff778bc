// SPDX-License-Identifier: GPL-2.0-or-later
/* A writer is ordered after all readers, not only the last one, up to their unlocks. */
#include "races.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int value;

static void *early(void *arg)
{
	pthread_rwlock_rdlock(&lock);
	RIGHT_ONLY(USE(value));
	pthread_rwlock_unlock(&lock);
	RACY_ONLY(USE(value)); /* RACE: value variable=value */
	tell(1);
	return arg;
}

static void *late(void *arg)
{
	await(1);
	pthread_rwlock_rdlock(&lock);
	USE(value);
	pthread_rwlock_unlock(&lock);
	tell(2);
	return arg;
}

static void *writer(void *arg)
{
	await(2);
	pthread_rwlock_wrlock(&lock);
	value = 1; /* RACE: value */
	pthread_rwlock_unlock(&lock);
	return arg;
}

int main(void)
{
	pthread_t t = start(writer);

	both(early, late);
	pthread_join(t, NULL);
	return 0;
}
