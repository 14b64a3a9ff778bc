// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "../../include/dep/store.h"
#include "error.h"
#include "lock.h"
#include "wire.h"

/* Who asks whether a store is in use has the lock for a moment: wait 50 ms for that. */
#define TRIES		50
#define PAUSE_NS	1000000

int dep_lock_writer(int fd, const char *dir)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_NS };
	int tries = 0;

	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno == EINTR)
			continue;
		/* A file system without locks is no reason not to record. */
		if (errno != EWOULDBLOCK)
			return 0;
		if (++tries > TRIES)
			return dep_fail(-EBUSY, "%s is in use: another writer has it open", dir);
		nanosleep(&pause, NULL);
	}
	return 0;
}

bool dep_store_in_use(const char *dir)
{
	char path[PATH_MAX];
	bool in_use;
	int fd;

	if (snprintf(path, sizeof(path), "%s/" DEP_LOG_NAME, dir) >= (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	in_use = flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
	close(fd);
	return in_use;
}
