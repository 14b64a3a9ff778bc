// SPDX-License-Identifier: GPL-2.0-or-later
/* A server in a thread, and blocking clients. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fake_client.h"

#define PATIENCE_MS	10000
#define LINE_ROOM	(4u << 20)

static pthread_t thread;
static sem_t called;
static void (*to_call)(struct fake_server *s, void *arg);
static void *to_call_arg;

#define REQUIRE(what) do { if (!(what)) { perror(#what); abort(); } } while (0)

static void woken(void *arg)
{
	to_call(arg, to_call_arg);
	sem_post(&called);
}

void server_call(struct fake_server *s, void (*call)(struct fake_server *s, void *arg), void *arg)
{
	to_call = call;
	to_call_arg = arg;
	loop_wake(s->loop);
	while (sem_wait(&called))
		;
}

static void *run(void *arg)
{
	struct fake_server *s = arg;

	REQUIRE(!loop_run(s->loop));
	return NULL;
}

void server_start(struct fake_server *s)
{
	struct control_ops ops;

	memset(s, 0, sizeof(*s));
	fake_core_init(&s->core);
	ops = fake_core_ops(&s->core);
	snprintf(s->path, sizeof(s->path), "/tmp/adept-test-%d.sock", getpid());
	snprintf(s->metrics_path, sizeof(s->metrics_path), "/tmp/adept-test-%d.metrics", getpid());
	REQUIRE(!loop_create(&s->loop));
	REQUIRE(!control_open(&s->control, s->loop, fake_core_listen(s->path), &ops));
	s->core.control = s->control;
	REQUIRE(!metrics_open(&s->metrics, s->loop, fake_core_listen(s->metrics_path), &ops));
	REQUIRE(!sem_init(&called, 0, 0));
	loop_on_wake(s->loop, woken, s);
	REQUIRE(!pthread_create(&thread, NULL, run, s));
}

static void end(struct fake_server *s, void *arg)
{
	(void)arg;
	control_close(s->control);
	metrics_close(s->metrics);
	s->core.control = NULL;
	loop_end(s->loop);
}

/* control_close() frees what clients left, or a leak is reported. */
void server_stop(struct fake_server *s)
{
	server_call(s, end, NULL);
	REQUIRE(!pthread_join(thread, NULL));
	loop_free(s->loop);
	sem_destroy(&called);
	fake_core_free(&s->core);
	unlink(s->path);
	unlink(s->metrics_path);
}

void connect_to(int fd, const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	REQUIRE(!connect(fd, (struct sockaddr *)&a, sizeof(a)));
}

int client_connect(const char *path)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	REQUIRE(fd >= 0);
	connect_to(fd, path);
	return fd;
}

void send_bytes(int fd, const char *data, size_t size)
{
	ssize_t n;

	while (size) {
		n = send(fd, data, size, MSG_NOSIGNAL);
		if (n < 0)
			return;
		data += n;
		size -= n;
	}
}

void send_line(int fd, const char *line)
{
	char *copy = malloc(strlen(line) + 1);

	/* In one packet. */
	REQUIRE(copy);
	memcpy(copy, line, strlen(line));
	copy[strlen(line)] = '\n';
	send_bytes(fd, copy, strlen(line) + 1);
	free(copy);
}

static ssize_t read_byte(int fd, char *c, int fds[2])
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct iovec iov = { .iov_base = c, .iov_len = 1 };
	char room[CMSG_SPACE(2 * sizeof(int))];
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = room,
		.msg_controllen = sizeof(room),
	};
	struct cmsghdr *h;
	ssize_t n;

	if (poll(&p, 1, PATIENCE_MS) != 1)
		return -1;
	n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	if (n <= 0 || !fds)
		return n;
	h = CMSG_FIRSTHDR(&m);
	if (h && h->cmsg_type == SCM_RIGHTS)
		memcpy(fds, CMSG_DATA(h), h->cmsg_len - CMSG_LEN(0));
	return n;
}

const char *read_line(int fd, int fds[2])
{
	static char line[LINE_ROOM];
	size_t n = 0;

	if (fds)
		fds[0] = fds[1] = -1;
	while (n + 1 < sizeof(line) && read_byte(fd, &line[n], n ? NULL : fds) == 1) {
		if (line[n] == '\n') {
			line[n] = 0;
			return line;
		}
		n++;
	}
	return NULL;
}

size_t read_rest(int fd, char *buf, size_t room)
{
	size_t n = 0;

	while (n + 1 < room && read_byte(fd, buf + n, NULL) == 1)
		n++;
	buf[n] = 0;
	return n;
}

const char *ask(int fd, const char *line)
{
	send_line(fd, line);
	return read_line(fd, NULL);
}
