// SPDX-License-Identifier: GPL-2.0-or-later
/* Loop of the fd store's holder process: serves one depd at a time, answers each request. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "libdep/abi/session_file.h"
#include "libdep/inject/owner.h"
#include "internal.h"
#include "holder.h"

struct holder_limits holder_limits = {
	.start_ms = 10000,
	.idle_ms = 600000,
	.fds = HOLDER_FDS_MAX,
};

static struct fdstore_entry held[HOLDER_FDS_MAX];
/* Robust futexes in the session files: the kernel marks them when the holder process ends. */
static struct dep_owner *owner[HOLDER_FDS_MAX];
static uint32_t nheld;

static int find(const char *name)
{
	uint32_t i;

	for (i = 0; i < nheld; i++)
		if (!strcmp(held[i].name, name))
			return i;
	return -ENOENT;
}

/* Store @fd; on success the holder owns it. */
static int put(const char *name, int fd)
{
	if (fd < 0 || !fdstore_name_good(name))
		return -EINVAL;
	if (find(name) >= 0)
		return -EEXIST;
	if (nheld >= holder_limits.fds || nheld >= HOLDER_FDS_MAX)
		return -ENOSPC;
	snprintf(held[nheld].name, FDSTORE_NAME_MAX, "%s", name);
	owner[nheld] = dep_owner_new(fd, offsetof(struct adept_session, holder));
	held[nheld++].fd = fd;
	return 0;
}

static int drop(const char *name)
{
	int i = find(name);

	if (i < 0)
		return i;
	close(held[i].fd);
	dep_owner_free(owner[i]);
	memmove(held + i, held + i + 1, (--nheld - i) * sizeof(*held));
	memmove(owner + i, owner + i + 1, (nheld - i) * sizeof(*owner));
	return 0;
}

static int answer(int sock, struct holder_msg *m, int *fd)
{
	int send = -1;

	switch (m->op) {
	case HOLDER_PUT:
		m->result = put(m->name, *fd);
		if (!m->result)
			*fd = -1;	/* the descriptor now belongs to held[] */
		break;
	case HOLDER_REMOVE:
		m->result = drop(m->name);
		break;
	case HOLDER_FETCH:
		m->result = m->arg < nheld ? 0 : -ENOENT;
		if (!m->result) {
			memcpy(m->name, held[m->arg].name, FDSTORE_NAME_MAX);
			send = held[m->arg].fd;
		}
		break;
	default:
		m->result = -EPROTO;
	}
	return holder_send(sock, m, send);
}

/* Answer all requests that have arrived.  Return: 0, or an error that ends the connection. */
static int serve(int sock)
{
	struct holder_msg m = { 0 };
	int fd, ret;

	for (;;) {
		ret = holder_receive(sock, &m, &fd);
		if (ret == -EAGAIN)
			return 0;
		if (ret && ret != -EMFILE)
			return ret;
		m.result = ret;
		/* -EAGAIN (depd does not read its answers) also ends the connection. */
		ret = ret ? holder_send(sock, &m, -1) : answer(sock, &m, &fd);
		if (fd >= 0)
			close(fd);
		if (ret)
			return ret;
	}
}

/* Accept a connection and send a HELLO.  Return: the socket; -1: the peer was refused. */
static int greet(int listener, bool busy)
{
	struct holder_msg m = { .op = HOLDER_HELLO, .name = HOLDER_VERSION };
	int sock = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (sock < 0)
		return -1;
	if (!fdstore_peer_ok(sock))
		m.result = -EPERM;
	else if (busy)
		m.result = -EBUSY;
	if (!holder_send(sock, &m, -1) && !m.result)
		return sock;
	close(sock);
	return -1;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

void holder_serve(int listener)
{
	int64_t end = now_ms() + holder_limits.start_ms;
	struct pollfd p[2] = { { .fd = -1, .events = POLLIN },
			       { .fd = listener, .events = POLLIN } };
	int64_t left = 0;

	for (;;) {
		if (p[0].fd < 0) {
			left = end - now_ms();
			if (left <= 0)
				return;
		}
		p[0].revents = p[1].revents = 0;
		if (poll(p, 2, p[0].fd < 0 ? (int)left : -1) < 0 && errno != EINTR)
			return;
		/* Serve the connected depd first: if it has ended, the next can be accepted. */
		if (p[0].fd >= 0 && serve(p[0].fd)) {
			close(p[0].fd);
			p[0].fd = -1;
			end = now_ms() + (nheld ? holder_limits.idle_ms : 0);
		}
		if (!p[1].revents)
			continue;
		if (p[0].fd < 0)
			p[0].fd = greet(listener, false);
		else
			greet(listener, true);
	}
}
