// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory that one thread unmapped and another one mapped again; the racy thread still uses it. */
#include <sys/mman.h>

#include "races.h"

#define PROT	(PROT_READ | PROT_WRITE)
#define FLAGS	(MAP_PRIVATE | MAP_ANONYMOUS)

static void *first(void *arg)
{
	int *p = mmap(NULL, 4096, PROT, FLAGS, -1, 0);

	CHECK(p != MAP_FAILED);
	*p = 1;
	munmap(p, 4096);
	tell((uintptr_t)p);
	await(1);
	RACY_ONLY(*p = 2); /* RACE: page */
	return arg;
}

static void *second(void *arg)
{
	void *old = (void *)hear(NOTHING);
	int *p;

	*(p = mmap(old, 4096, PROT, FLAGS | MAP_FIXED_NOREPLACE, -1, 0)) = 3; /* RACE: page */
	CHECK(p == old);
	tell(1);
	return arg;
}

int main(void)
{
	return both(first, second);
}
