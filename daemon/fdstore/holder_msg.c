// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages between depd and the fd store's holder, with descriptors. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "holder.h"

union control {
	struct cmsghdr h;
	char room[CMSG_SPACE(4 * sizeof(int))];
};

int holder_send(int sock, const struct holder_msg *m, int fd)
{
	struct iovec v = { (void *)m, sizeof(*m) };
	struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1 };
	union control c = { 0 };
	ssize_t n;

	if (fd >= 0) {
		h.msg_control = &c;
		h.msg_controllen = CMSG_SPACE(sizeof(int));
		c.h.cmsg_level = SOL_SOCKET;
		c.h.cmsg_type = SCM_RIGHTS;
		c.h.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&c.h), &fd, sizeof(int));
	}
	do {
		n = sendmsg(sock, &h, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n == (ssize_t)sizeof(*m) ? 0 : -EPROTO;
}

/* Take the first descriptor of @h into *fd, close the others.  Return: number of descriptors. */
static unsigned int take_fds(struct msghdr *h, int *fd)
{
	unsigned int seen = 0;
	struct cmsghdr *c;
	size_t i, n;
	int one;

	for (c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			memcpy(&one, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (seen++)
				close(one);
			else
				*fd = one;
		}
	}
	return seen;
}

int holder_receive(int sock, struct holder_msg *m, int *fd)
{
	struct iovec v = { m, sizeof(*m) };
	union control c;
	struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &c,
			    .msg_controllen = sizeof(c) };
	unsigned int fds;
	ssize_t n;

	*fd = -1;
	do {
		n = recvmsg(sock, &h, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	fds = take_fds(&h, fd);
	m->name[FDSTORE_NAME_MAX - 1] = 0;
	if (n == (ssize_t)sizeof(*m) && fds <= 1 && !(h.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 0;
	if (fds)
		close(*fd);
	*fd = -1;
	if (n == (ssize_t)sizeof(*m) && h.msg_flags & MSG_CTRUNC)
		return -EMFILE;
	return n ? -EPROTO : -EPIPE;
}

int fdstore_peer_ok(int sock)
{
	struct ucred c;
	socklen_t n = sizeof(c);

	return !getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &c, &n) &&
	       (!c.uid || c.uid == geteuid());
}
