// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "listen.h"
#include "daemon/base/rundir.h"

/* Retry for 5 seconds: the socket of a killed depd can be open after its lock was released. */
static int listen_patiently(const char *dir, const char *name, mode_t mode)
{
	const struct timespec pause = { .tv_nsec = 50000000 };
	int i, fd = -EADDRINUSE;

	for (i = 0; i < 100 && fd == -EADDRINUSE; i++) {
		if (i)
			nanosleep(&pause, NULL);
		fd = rundir_listen(dir, name, mode);
	}
	return fd;
}

int listen_on(struct fdstore *k, const char *rundir, const char *systemd_name, const char *path,
	      const char *name, mode_t mode)
{
	int fd = k ? fdstore_listen(k, systemd_name) : -ENOENT;
	char dir[PATH_MAX], *slash;

	if (fd != -ENOENT)
		return fd;
	if (!path)
		return listen_patiently(rundir, name, mode);
	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (!slash || !slash[1])
		return -EINVAL;
	*slash = '\0';
	return listen_patiently(*dir ? dir : "/", slash + 1, mode);
}
