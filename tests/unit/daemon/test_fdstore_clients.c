// SPDX-License-Identifier: GPL-2.0-or-later
/* Clients of the holder that break its protocol, die, or belong to another user. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/base/rundir.h"
#include "test_fdstore.h"

static int raw_connect(void)
{
	struct holder_msg m;
	int fd, none;

	fd = rundir_connect(dir, HOLDER_SOCKET, SOCK_SEQPACKET, 1000);
	if (fd < 0)
		return fd;
	assert_int_equal(holder_receive(fd, &m, &none), 0);
	assert_int_equal(m.op, HOLDER_HELLO);
	if (!m.result)
		return fd;
	close(fd);
	return m.result;
}

void foreign_user(void **state)
{
	char path[128];
	struct fdstore *k;
	int status;
	pid_t pid;

	(void)state;
	if (geteuid())
		skip();
	k = open_empty();
	put(k, "a", "");
	fdstore_close(k);
	chmod(dir, 0755);
	pid = fork();
	if (!pid)
		_exit(setuid(65534) || raw_connect() != -EACCES);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* Even if the mode of the socket allows the connection. */
	snprintf(path, sizeof(path), "%s/%s", dir, HOLDER_SOCKET);
	chmod(path, 0666);
	pid = fork();
	if (!pid)
		_exit(setuid(65534) || raw_connect() != -EPERM);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Every error that a client can make, by clients that exit after it. */
static void half_message(void)
{
	int fd = raw_connect();

	send(fd, "half", 4, 0);
}

static void many_fds(void)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(3 * sizeof(int))];
	} c = { 0 };
	struct holder_msg m = { .op = HOLDER_PUT, .name = "many" };
	struct iovec v = { &m, sizeof(m) };
	struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &c,
			    .msg_controllen = sizeof(c) };

	c.h = (struct cmsghdr){ CMSG_LEN(3 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(&c.h), (int[]){ 0, 1, 2 }, 3 * sizeof(int));
	sendmsg(raw_connect(), &h, 0);
}

static void reads_nothing(void)
{
	struct holder_msg m = { .op = HOLDER_FETCH };
	int i, fd = raw_connect();

	for (i = 0; i < 2000 && !holder_send(fd, &m, -1); i++)
		;
}

static void unknown_requests(void)
{
	struct holder_msg m = { .op = 77 };
	int none, fd = raw_connect();

	holder_send(fd, &m, 0);
	assert_int_equal(holder_receive(fd, &m, &none), 0);
	assert_int_equal(m.result, -EPROTO);
	m = (struct holder_msg){ .op = HOLDER_FETCH, .arg = ~0u };
	holder_send(fd, &m, -1);
	assert_int_equal(holder_receive(fd, &m, &none), 0);
	assert_int_equal(m.result, -ENOENT);
}

/* Remove all descriptors but "a": some of the noise is correct. */
static void remove_noise(int fd)
{
	struct holder_msg m = { .op = HOLDER_FETCH };
	int got;

	while (!holder_send(fd, &m, -1) && !holder_receive(fd, &m, &got) && !m.result) {
		close(got);
		if (!strcmp(m.name, "a")) {
			m = (struct holder_msg){ .op = HOLDER_FETCH, .arg = m.arg + 1 };
			continue;
		}
		m.op = HOLDER_REMOVE;
		assert_int_equal(holder_send(fd, &m, -1), 0);
		assert_int_equal(holder_receive(fd, &m, &got), 0);
		m = (struct holder_msg){ .op = HOLDER_FETCH };
	}
}

/* Requests of all sizes, some nearly correct, until the holder disconnects; repeatedly. */
static void noise(void)
{
	struct holder_msg m[2];
	unsigned char *b = (unsigned char *)m;
	const char *seed = getenv("ADEPT_TEST_SEED");
	int i, round, fd;
	size_t n;

	srandom(seed ? (unsigned int)strtoul(seed, NULL, 0) : 4711);
	for (round = 0; round < 300; round++) {
		fd = raw_connect();
		for (i = 0; i < 20; i++) {
			for (n = 0; n < sizeof(m); n++)
				b[n] = random();
			m[0].op = random() % 6;
			n = random() % 4 ? sizeof(m[0]) : (size_t)random() % sizeof(m);
			if (random() % 2) {
				strcpy(m[0].name, "noise");
				m[0].op = random() % 2 ? HOLDER_PUT : HOLDER_REMOVE;
			}
			if (n == sizeof(m[0]) && random() % 2 ? holder_send(fd, m, 0) :
			    send(fd, m, n, MSG_NOSIGNAL) < 0)
				break;
			recv(fd, b, sizeof(m), MSG_DONTWAIT);
		}
		close(fd);
	}
	do
		fd = raw_connect();
	while (fd < 0);
	remove_noise(fd);
}

static void last_words(void)
{
	struct holder_msg m = { .op = HOLDER_PUT, .name = "last" };

	holder_send(raw_connect(), &m, memory("words"));
}

void clients_that_die(void **state)
{
	void (*bad[])(void) = { half_message, many_fds, reads_nothing, unknown_requests,
				noise };
	struct fdstore_entry *kept;
	struct fdstore *k;
	unsigned int i;
	size_t n;
	pid_t pid;

	(void)state;
	k = open_empty();
	put(k, "a", "text");
	pid = holder();
	fdstore_close(k);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		killed(bad[i]);
		k = open_keep(&kept, &n);
		assert_int_equal(n, 1);
		assert_text(kept[0].fd, "text");
		free_kept(kept, n);
		fdstore_close(k);
	}
	killed(last_words);
	k = open_keep(&kept, &n);
	assert_int_equal(n, 2);
	assert_text(kept[1].fd, "words");
	free_kept(kept, n);
	assert_int_equal(holder(), pid);
	fdstore_close(k);
}
