// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel reads a buffer for a write, while another thread changes it. */
#include "races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static char buffer[16];

static void *caller(void *arg)
{
	pthread_mutex_lock(&lock);
	CHECK(write(ends[1], buffer, 16) == 16); /* RACE: buffer variable=buffer */
	pthread_mutex_unlock(&lock);
	tell(1);
	return arg;
}

static void *user(void *arg)
{
	await(1);
	RIGHT_ONLY(pthread_mutex_lock(&lock));
	buffer[15] = 1; /* RACE: buffer */
	RIGHT_ONLY(pthread_mutex_unlock(&lock));
	return arg;
}

int main(void)
{
	CHECK(!pipe(ends));
	return both(caller, user);
}
