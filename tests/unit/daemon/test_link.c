// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages between the front and its instances, with hostile peers, and the shared page. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/link/link.h"

static int ends[2];
static struct link_msg m;
static int fds[LINK_FDS];

static int setup(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

static int teardown(void **state)
{
	(void)state;
	close(ends[0]);
	close(ends[1]);
	return 0;
}

/* Number of open descriptors, to detect leaks. */
static int open_fds(void)
{
	int i, n = 0;

	for (i = 0; i < 256; i++)
		n += fcntl(i, F_GETFD) >= 0;
	return n;
}

static void test_messages(void **state)
{
	struct link_msg to = { .op = LINK_CLIENT };
	int null = open("/dev/null", O_RDWR);

	(void)state;
	assert_int_equal(link_receive(ends[1], &m, fds, false), -EAGAIN);
	assert_int_equal(link_send(ends[0], &to, &null, 1), 0);
	assert_int_equal(link_receive(ends[1], &m, fds, false), 0);
	assert_int_equal(m.op, LINK_CLIENT);
	assert_true(fds[0] >= 0 && fds[1] < 0);
	close(fds[0]);
	to = (struct link_msg){ .op = LINK_IDS, .ids = { 7, 9 } };
	assert_int_equal(link_send(ends[0], &to, NULL, 0), 0);
	assert_int_equal(link_receive(ends[1], &m, fds, true), 0);
	assert_int_equal(m.ids.first, 7);
	assert_int_equal(m.ids.count, 9);
	close(null);
	/* A peer that does not read does not block the sender. */
	while (!link_send(ends[0], &to, NULL, 0))
		;
	assert_int_equal(link_send(ends[0], &to, NULL, 0), -EAGAIN);
	close(ends[1]);
	assert_int_equal(link_send(ends[0], &to, NULL, 0), -EPIPE);
	assert_int_equal(link_send(-1, &to, NULL, 0), -EPIPE);
}

/* Sizes of no message, of another message, and too long ones. */
static void test_nonsense(void **state)
{
	static char buf[sizeof(struct link_msg) + 100];
	uint32_t op;
	size_t n;

	(void)state;
	for (op = 0; op <= LINK_OPS + 1; op++) {
		for (n = 1; n < 64; n++) {
			memcpy(buf, &op, sizeof(op));
			assert_int_equal(send(ends[0], buf, n, 0), n);
			if (link_receive(ends[1], &m, fds, false))
				continue;
			/* Only messages of exactly their size are accepted. */
			assert_true(op < LINK_OPS);
			assert_true(n == 8 || n == 16);
		}
		memcpy(buf, &op, sizeof(op));
		assert_int_equal(send(ends[0], buf, sizeof(buf), 0), sizeof(buf));
		assert_int_equal(link_receive(ends[1], &m, fds, false), -EPROTO);
	}
	op = 0xffffffff;
	assert_int_equal(send(ends[0], &op, sizeof(op), 0), sizeof(op));
	assert_int_equal(link_receive(ends[1], &m, fds, false), -EPROTO);
}

/* Unexpected descriptors, and too many of them, are closed. */
static void test_descriptors(void **state)
{
	union {
		char buf[CMSG_SPACE(20 * sizeof(int))];
		struct cmsghdr align;
	} room = { { 0 } };
	uint32_t op[2] = { LINK_HELLO, 0 };
	struct iovec iov = { .iov_base = op, .iov_len = sizeof(op) };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = room.buf };
	int before = open_fds(), i, n;
	struct cmsghdr *c;

	(void)state;
	for (n = 1; n <= 20; n++) {
		h.msg_controllen = CMSG_SPACE(n * sizeof(int));
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		for (i = 0; i < n; i++)
			memcpy(CMSG_DATA(c) + i * sizeof(int), &ends[0], sizeof(int));
		assert_int_equal(sendmsg(ends[0], &h, 0), sizeof(op));
		if (!link_receive(ends[1], &m, fds, false))
			for (i = 0; i < LINK_FDS; i++)
				if (fds[i] >= 0)
					close(fds[i]);
		assert_int_equal(open_fds(), before);
	}
}

static void test_page(void **state)
{
	struct link_info in = { .pid = 17, .matches = 3, .counters.chunks = 5 }, out = { 0 };
	struct account_info a = { .uid = 1000 }, got;
	const struct link_page *view;
	struct link_page *p;
	int fd, dup, plain;

	(void)state;
	assert_int_equal(page_make(&p, true, &fd), 0);
	page_write(p, &in);
	page_write_accounts(p, &a, 1);
	dup = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	assert_int_equal(page_open(&view, dup), 0);
	page_read(view, &out);
	assert_memory_equal(&in, &out, sizeof(in));
	assert_true(page_account(view, 0, &got));
	assert_int_equal(got.uid, 1000);
	assert_false(page_account(view, 1, &got));
	/* The descriptor permits neither writing to the page nor truncating it. */
	assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 1 << 20), -1);
	assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
	assert_int_equal(mprotect((void *)view, 4096, PROT_READ | PROT_WRITE), -1);
	close(fd);
	page_free(p);
	/* Only root sees the numbers of other users. */
	assert_int_equal(page_make(&p, false, &plain), 0);
	page_write(p, &in);
	page_write_accounts(p, &a, 1);
	assert_int_equal(page_open(&view, plain), 0);
	assert_false(page_account(view, 0, &got));
	page_free(p);
	assert_int_equal(page_open(&view, open("/dev/null", O_RDONLY)), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_messages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nonsense, setup, teardown),
		cmocka_unit_test_setup_teardown(test_descriptors, setup, teardown),
		cmocka_unit_test(test_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
