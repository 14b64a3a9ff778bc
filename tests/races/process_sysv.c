// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A segment of System V's shared memory, attached twice, in two processes, which a lock on a file
 * orders.
 * tsan: no, because it does not see that two processes have memory in common
 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>

#include "races.h"

static void locked(int op)
{
	/* each has its own open file */
	static int fd = -1;

	if (fd < 0)
		fd = open("/proc/self/exe", 0);
	CHECK(fd >= 0 && !flock(fd, op));
}

static int *attach(int id)
{
	int *p = shmat(id, NULL, 0);

	CHECK(p != (void *)-1);
	return p;
}

int main(void)
{
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600), *p;

	CHECK(id >= 0);
	p = attach(id);
	if (!fork()) {
		p = attach(id);
		RIGHT_ONLY(locked(LOCK_EX));
		p[9]++; /* RACE: counter */
		RIGHT_ONLY(locked(LOCK_UN));
		_exit(0);
	}
	nap();
	locked(LOCK_EX);
	p[9]++; /* RACE: counter */
	locked(LOCK_UN);
	CHECK(wait(NULL) > 0);
	CHECK(!shmctl(id, IPC_RMID, NULL));
	return 0;
}
