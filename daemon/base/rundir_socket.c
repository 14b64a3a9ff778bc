// SPDX-License-Identifier: GPL-2.0-or-later
/* Sockets in the run directory. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "rundir.h"

static int address(struct sockaddr_un *a, const char *dir, const char *name)
{
	int n;

	a->sun_family = AF_UNIX;
	n = snprintf(a->sun_path, sizeof(a->sun_path), "%s/%s", dir, name);
	return n > 0 && (size_t)n < sizeof(a->sun_path) ? 0 : -ENAMETOOLONG;
}

static int connect_to(const struct sockaddr_un *a, int type, unsigned int timeout_ms)
{
	struct timeval t = { timeout_ms / 1000, timeout_ms % 1000 * 1000 };
	int fd, ret;

	fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* connect() waits up to SO_SNDTIMEO while the server's backlog is full. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t)) ||
	    connect(fd, (const struct sockaddr *)a, sizeof(*a))) {
		ret = -errno;
		close(fd);
		return ret;
	}
	return fd;
}

int rundir_connect(const char *dir, const char *name, int type, unsigned int timeout_ms)
{
	struct sockaddr_un a = { 0 };
	int ret = address(&a, dir, name);

	return ret ? ret : connect_to(&a, type, timeout_ms);
}

/* Remove a socket file on which no process listens.  Return: 0: the name is free to use. */
static int replace(const struct sockaddr_un *a, int type)
{
	struct stat st;
	int fd;

	if (lstat(a->sun_path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = connect_to(a, type, 100);
	if (fd >= 0) {
		close(fd);
		return -EADDRINUSE;
	}
	/* Other errors mean that a process listens: EAGAIN (full backlog), EPROTOTYPE (type). */
	if (fd != -ECONNREFUSED && fd != -ENOENT)
		return -EADDRINUSE;
	return unlink(a->sun_path) && errno != ENOENT ? -errno : 0;
}

int rundir_socket(const char *dir, const char *name, int type, mode_t mode)
{
	struct sockaddr_un a = { 0 };
	mode_t mask;
	int fd, ret;

	ret = address(&a, dir, name);
	if (!ret)
		ret = replace(&a, type);
	if (ret)
		return ret;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	mask = umask(0777 & ~mode);
	ret = bind(fd, (struct sockaddr *)&a, sizeof(a)) ? -errno : 0;
	umask(mask);
	if (!ret && listen(fd, SOMAXCONN))
		ret = -errno;
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

int rundir_listen(const char *dir, const char *name, mode_t mode)
{
	return rundir_socket(dir, name, SOCK_STREAM, mode);
}
