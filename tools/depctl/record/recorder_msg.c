// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages between depctl and its collector.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "recorder.h"

union control {
	struct cmsghdr head;
	char buf[CMSG_SPACE(2 * sizeof(int))];
};

int recorder_send(int sock, const struct recorder_message *m, const int *fds, int nfds)
{
	struct iovec iov = { (void *)m, sizeof(*m) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union control c = { .buf = { 0 } };
	ssize_t n;

	if (nfds) {
		msg.msg_control = c.buf;
		msg.msg_controllen = CMSG_SPACE((size_t)nfds * sizeof(int));
		c.head.cmsg_level = SOL_SOCKET;
		c.head.cmsg_type = SCM_RIGHTS;
		c.head.cmsg_len = CMSG_LEN((size_t)nfds * sizeof(int));
		memcpy(CMSG_DATA(&c.head), fds, (size_t)nfds * sizeof(int));
	}
	do {
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* Take the first two descriptors from the message, and close all further ones. */
static void take_fds(struct msghdr *msg, int fds[2])
{
	struct cmsghdr *h;
	size_t i, n;
	int fd, k = 0;

	for (h = CMSG_FIRSTHDR(msg); h; h = CMSG_NXTHDR(msg, h)) {
		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof(fd));
			if (k < 2)
				fds[k++] = fd;
			else
				close(fd);
		}
	}
}

static void close_all(int fds[2])
{
	int i;

	for (i = 0; i < 2; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

int recorder_receive(int sock, struct recorder_message *m, int fds[2], int flags)
{
	struct iovec iov = { m, sizeof(*m) };
	union control c;
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = fds ? c.buf : NULL, .msg_controllen = fds ? sizeof(c) : 0,
	};
	ssize_t n;

	if (fds)
		fds[0] = fds[1] = -1;
	/* The peer has closed its socket without reading all: first take what it has sent. */
	do {
		n = recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC);
	} while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0)
		return errno == EAGAIN ? -EAGAIN : -EPIPE;
	if (fds)
		take_fds(&msg, fds);
	if (n == (ssize_t)sizeof(*m) && !(msg.msg_flags & MSG_TRUNC))
		return 0;
	if (fds)
		close_all(fds);
	return -EPIPE;
}
