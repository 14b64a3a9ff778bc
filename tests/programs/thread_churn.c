// SPDX-License-Identifier: GPL-2.0-or-later
/* Suite: output.  N threads (default 500) created and ended one after the other. */
#include <pthread.h>

#include "common.h"

static void *worker(void *arg)
{
	uint64_t n = (uintptr_t)arg, x = n;
	volatile char local[256];
	int i;

	for (i = 0; i < 256; i++)
		local[i] = x = x * 33 + i;
	if (n % 3 == 0)
		pthread_exit((void *)(uintptr_t)(local[n & 255] + n));
	return (void *)(uintptr_t)(local[n & 255] + n);
}

int main(int argc, char **argv)
{
	unsigned int n = argc > 1 ? atoi(argv[1]) : 500, i;
	pthread_attr_t attr;
	pthread_t t;
	void *r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (i = 0; i < n; i++) {
		CHECK(!pthread_create(&t, &attr, worker, (void *)(uintptr_t)i));
		CHECK(!pthread_join(t, &r));
		mix((uintptr_t)r);
	}
	return finish("thread_churn");
}
