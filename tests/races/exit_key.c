// SPDX-License-Identifier: GPL-2.0-or-later
/* The destructor of thread-specific data runs in its thread: a join orders it, too. */
#include "races.h"

static pthread_key_t key;
static int value;

static void destructor(void *arg)
{
	USE(arg);
	value = 1; /* RACE: value variable=value */
	tell(1);
}

static void *thread(void *arg)
{
	pthread_setspecific(key, &value);
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_key_create(&key, destructor);
	t = start(thread);
	RACY_ONLY(await(1));
	RACY_ONLY(USE(value)); /* RACE: value */
	pthread_join(t, NULL);
	RIGHT_ONLY(USE(value));
	return 0;
}
