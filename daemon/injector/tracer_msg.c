// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tracer_msg.h"

union control {
	struct cmsghdr h;
	char room[CMSG_SPACE(TRACER_FDS * sizeof(int))];
};

/* A packet that waits for room in the socket. */
struct tracer_packet {
	struct tracer_packet *next;
	struct tracer_msg m;
	int fds[TRACER_FDS], n;
};

static int send_now(int sock, const struct tracer_msg *m, const int *fds, int n)
{
	struct iovec v = { (void *)m, sizeof(*m) };
	struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1 };
	union control c = { 0 };
	ssize_t sent;

	if (n) {
		h.msg_control = &c;
		h.msg_controllen = CMSG_SPACE(n * sizeof(int));
		c.h.cmsg_level = SOL_SOCKET;
		c.h.cmsg_type = SCM_RIGHTS;
		c.h.cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(&c.h), fds, n * sizeof(int));
	}
	do {
		sent = sendmsg(sock, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/* True if the packet must wait: the socket is full, or too many descriptors are in flight. */
static bool is_full(int ret)
{
	return ret == -EAGAIN || ret == -ENOBUFS || ret == -ETOOMANYREFS;
}

static void drop(struct tracer_packet *p)
{
	while (p->n)
		close(p->fds[--p->n]);
	free(p);
}

static int wait_in_line(struct tracer_line *l, const struct tracer_msg *m, const int *fds, int n)
{
	struct tracer_packet *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->m = *m;
	for (; p->n < n; p->n++) {
		p->fds[p->n] = fcntl(fds[p->n], F_DUPFD_CLOEXEC, 0);
		if (p->fds[p->n] < 0) {
			drop(p);
			return -EMFILE;
		}
	}
	if (l->first)
		l->last->next = p;
	else
		l->first = p;
	l->last = p;
	return 0;
}

int tracer_line_send(struct tracer_line *l, const struct tracer_msg *m, const int *fds, int n)
{
	int ret = -EAGAIN;

	if (l->sock < 0)
		return -EPIPE;
	if (!l->first)
		ret = send_now(l->sock, m, fds, n);
	return is_full(ret) ? wait_in_line(l, m, fds, n) : ret;
}

void tracer_line_flush(struct tracer_line *l)
{
	struct tracer_packet *p;

	while ((p = l->first)) {
		if (is_full(send_now(l->sock, &p->m, p->fds, p->n)))
			return;
		/* The packet was sent, or the peer has ended: then the next receive reports it. */
		l->first = p->next;
		drop(p);
	}
}

/* Copy the received descriptors to @fds; close those that do not fit. */
static void take_fds(struct msghdr *h, int *fds)
{
	struct cmsghdr *c;
	size_t i, n;
	int fd, k = 0;

	for (c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (k < TRACER_FDS)
				fds[k++] = fd;
			else
				close(fd);
		}
	}
}

int tracer_line_receive(struct tracer_line *l, struct tracer_msg *m, int *fds)
{
	struct iovec v = { m, sizeof(*m) };
	union control c;
	struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &c,
			    .msg_controllen = sizeof(c) };
	ssize_t n;
	int i;

	for (i = 0; i < TRACER_FDS; i++)
		fds[i] = -1;
	do {
		/* ECONNRESET: the peer ended before it read all messages; receive those it sent. */
		n = recvmsg(l->sock, &h, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	} while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0)
		return errno == EAGAIN ? -EAGAIN : -EPIPE;
	take_fds(&h, fds);
	/* If this process had no room for descriptors, the message's handler refuses it. */
	if (n == (ssize_t)sizeof(*m) && !(h.msg_flags & MSG_TRUNC))
		return 0;
	for (i = 0; i < TRACER_FDS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
	return -EPIPE;
}

void tracer_line_close(struct tracer_line *l)
{
	struct tracer_packet *p;

	while ((p = l->first)) {
		l->first = p->next;
		drop(p);
	}
	if (l->sock >= 0)
		close(l->sock);
	l->sock = -1;
}
