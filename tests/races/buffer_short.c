// SPDX-License-Identifier: GPL-2.0-or-later
/* A read writes only as many bytes to the buffer as there are. */
#include "races.h"

#define LENGTH	(RACY_ONLY(10) RIGHT_ONLY(9))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static char buffer[64];

static void *caller(void *arg)
{
	pthread_mutex_lock(&lock);
	CHECK(read(ends[0], buffer, sizeof(buffer)) == LENGTH); /* RACE: buffer variable=buffer */
	pthread_mutex_unlock(&lock);
	tell(1);
	return arg;
}

static void *user(void *arg)
{
	await(1);
	buffer[9] = 1; /* RACE: buffer */
	return arg;
}

int main(void)
{
	CHECK(!pipe(ends));
	CHECK(write(ends[1], "0123456789", LENGTH) == LENGTH);
	return both(caller, user);
}
