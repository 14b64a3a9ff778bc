// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A flag in memory that processes share, stored and awaited by moves.
 * tsan: no, because it does not see that two processes have memory in common
 */
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "races.h"

struct common {
	atomic_int flag;
	int value;
};

int main(void)
{
	struct common *c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(c != MAP_FAILED);
	if (!fork()) {
		nap();
		RIGHT_ONLY(c->value = 1);
		atomic_store_explicit(&c->flag, 1, memory_order_release);
		RACY_ONLY(c->value = 1); /* RACE: value */
		_exit(0);
	}
	while (!atomic_load_explicit(&c->flag, memory_order_acquire))
		;
	nap();
	USE(c->value); /* RACE: value */
	CHECK(wait(NULL) > 0);
	return 0;
}
