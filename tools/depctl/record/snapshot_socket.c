// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "snapshot_socket.h"

#define BACKLOG	16

static socklen_t address(struct sockaddr_un *a, const char *what, dev_t dev, ino_t ino)
{
	int n;

	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	/* An address that begins with a NUL byte is an abstract one. */
	n = snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "adept-%s-%llx-%llx", what,
		     (unsigned long long)dev, (unsigned long long)ino);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int fail(int fd)
{
	int err = -errno;

	close(fd);
	return err;
}

int snapshot_listen(const char *what, dev_t dev, ino_t ino)
{
	struct f_owner_ex loop = { .type = F_OWNER_TID, .pid = gettid() };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un a;
	socklen_t size = address(&a, what, dev, ino);

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&a, size) || listen(fd, BACKLOG))
		return fail(fd);
	fcntl(fd, F_SETOWN_EX, &loop);
	fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK);
	return fd;
}

int snapshot_connect(const char *what, dev_t dev, ino_t ino)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un a;
	socklen_t size = address(&a, what, dev, ino);

	if (fd < 0)
		return -errno;
	return connect(fd, (struct sockaddr *)&a, size) ? fail(fd) : fd;
}

bool snapshot_peer_is(int fd, uid_t uid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
	       (peer.uid == uid || !peer.uid);
}
