// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Find depd's socket, connect, send and receive.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

/* Replaces control characters: the message can contain text from another process. */
int client_fail(struct client *c, int err, const char *fmt, ...)
{
	va_list ap;
	char *p;

	va_start(ap, fmt);
	vsnprintf(c->why, sizeof(c->why), fmt, ap);
	va_end(ap);
	for (p = c->why; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	return err;
}

uint64_t client_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}

/* ---- connecting ---- */

static int try_connect(struct client *c, const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	uint64_t until = client_now_ms() + CLIENT_TIMEOUT_MS;
	int err;

	if (strlen(path) >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	strcpy(a.sun_path, path);
	strcpy(c->path, path);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		return -errno;
	while (connect(c->fd, (struct sockaddr *)&a, sizeof(a))) {
		/* EAGAIN: the socket's queue of connections is full. */
		if ((errno == EAGAIN || errno == EINTR) && client_now_ms() < until) {
			usleep(20000);
			continue;
		}
		err = errno;
		close(c->fd);
		c->fd = -1;
		return -err;
	}
	return 0;
}

static bool is_absent(int err)
{
	return err == -ENOENT || err == -ECONNREFUSED || err == -ENOTDIR;
}

static int no_connection(struct client *c, int err, const char *path, bool asked_for)
{
	if (is_absent(err) && asked_for)
		return client_fail(c, -ENOENT, "no depd listens at %s", path);
	if (is_absent(err))
		return client_fail(c, -ENOENT, "no depd is running; start it with `systemctl start "
				   "depd' or `depd'");
	if (err == -EACCES || err == -EPERM)
		return client_fail(c, -EACCES, "%s: no permission to use this depd; run `depd' to "
				   "start your own depd", path);
	if (err == -EAGAIN)
		return client_fail(c, -ETIMEDOUT, "%s: depd does not accept connections: it is "
				   "stopped or overloaded", path);
	return client_fail(c, err, "%s: %s", path, strerror(-err));
}

/* Connect to a socket whose path the user has given. */
static int connect_there(struct client *c, const char *path)
{
	int err = try_connect(c, path);

	return err ? no_connection(c, err, path, true) : 0;
}

/* Connect to socket @name in the directory of the socket @path. */
static int connect_tail(struct client *c, const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	char other[PATH_MAX];

	snprintf(other, sizeof(other), "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, name);
	return connect_there(c, other);
}

int client_find(struct client *c, const char *socket, const char *name, bool is_control)
{
	const char *env = getenv("ADEPT_SOCKET"), *run = getenv("XDG_RUNTIME_DIR");
	const char *rundir = getenv("ADEPT_RUNDIR");
	char path[PATH_MAX];
	int err;

	*c = (struct client){ .fd = -1 };
	c->events_tail = &c->events;
	if (socket)
		return connect_there(c, socket);
	if (env && *env)
		return is_control ? connect_there(c, env) : connect_tail(c, env, name);
	if (rundir && *rundir) {
		snprintf(path, sizeof(path), "%s/%s", rundir, name);
		return connect_there(c, path);
	}
	if (getuid() && run && *run) {
		snprintf(path, sizeof(path), "%s/adept/%s", run, name);
		err = try_connect(c, path);
		if (!is_absent(err))
			return err ? no_connection(c, err, path, false) : 0;
	}
	snprintf(path, sizeof(path), "/run/adept/%s", name);
	err = try_connect(c, path);
	return err ? no_connection(c, err, path, false) : 0;
}

int client_open(struct client *c, const char *socket)
{
	return client_find(c, socket, "depd.sock", true);
}

/* ---- bytes ---- */

int client_wait(struct client *c, short events, uint64_t until)
{
	struct pollfd p = { .fd = c->fd, .events = events };
	uint64_t now;
	int n;

	for (;;) {
		now = client_now_ms();
		n = poll(&p, 1, now < until ? (int)(until - now) : 0);
		if (n > 0)
			return 0;
		if (!n)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

int client_send_all(struct client *c, const char *data, size_t size, uint64_t until)
{
	ssize_t n;
	int ret;

	while (size) {
		n = send(c->fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n >= 0) {
			data += n;
			size -= n;
		} else if (errno == EAGAIN) {
			ret = client_wait(c, POLLOUT, until);
			if (ret)
				return ret;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

void client_drop_fds(struct client *c)
{
	while (c->nfds)
		close(c->fds[--c->nfds]);
}

static void take_fds(struct client *c, struct msghdr *m)
{
	struct cmsghdr *h;
	size_t i, n;
	int fd;

	for (h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof(fd));
			if (c->nfds < CLIENT_FDS_MAX)
				c->fds[c->nfds++] = fd;
			else
				close(fd);
		}
	}
}

ssize_t client_receive(struct client *c)
{
	char room[CMSG_SPACE(8 * sizeof(int))];
	struct iovec iov;
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = room,
		.msg_controllen = sizeof(room),
	};
	size_t more = c->in_room ? 2 * c->in_room : 4096;
	ssize_t n;
	char *in;

	if (c->in_len == c->in_room) {
		if (more > CLIENT_LINE_MAX)
			return -EPROTO;
		in = realloc(c->in, more);
		if (!in)
			return -ENOMEM;
		c->in = in;
		c->in_room = more;
	}
	iov.iov_base = c->in + c->in_len;
	iov.iov_len = c->in_room - c->in_len;
	n = recvmsg(c->fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (n < 0)
		return -errno;
	take_fds(c, &m);
	c->in_len += n;
	return n;
}

int client_read_line(struct client *c, uint64_t until)
{
	char *end;
	ssize_t n;
	int ret;

	while (!(end = c->in_len ? memchr(c->in, '\n', c->in_len) : NULL)) {
		ret = client_wait(c, POLLIN, until);
		if (ret)
			return ret;
		n = client_receive(c);
		if (!n || n == -ECONNRESET)
			return -EPIPE;
		if (n < 0 && n != -EAGAIN && n != -EINTR)
			return n;
	}
	*end++ = 0;
	free(c->line);
	c->line = strdup(c->in);
	if (!c->line)
		return -ENOMEM;
	c->in_len -= end - c->in;
	memmove(c->in, end, c->in_len);
	return 0;
}
