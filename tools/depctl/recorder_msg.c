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

static void take_fds(struct msghdr *msg, int fds[2])
{
	struct cmsghdr *h = CMSG_FIRSTHDR(msg);
	int fd;
	size_t i;

	if (!h || h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
		return;
	for (i = 0; i < 2 && CMSG_LEN((i + 1) * sizeof(int)) <= h->cmsg_len; i++) {
		memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof(fd));
		fds[i] = fd;
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

	do {
		n = recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return -EAGAIN;
	if (n != sizeof(*m))
		return -EPIPE;
	if (fds) {
		fds[0] = fds[1] = -1;
		take_fds(&msg, fds);
	}
	return 0;
}
