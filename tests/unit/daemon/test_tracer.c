// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages between depd and its tracer, and requests that the tracer refuses. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/injector/tracer.h"
#include "daemon/injector/tracer_msg.h"

#define MANY 2000

static struct tracer_line ours, theirs;

static int pair(void **state)
{
	int ends[2];

	(void)state;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -1;
	ours = (struct tracer_line){ .sock = ends[0] };
	theirs = (struct tracer_line){ .sock = ends[1] };
	return 0;
}

static int unpair(void **state)
{
	(void)state;
	tracer_line_close(&ours);
	tracer_line_close(&theirs);
	return 0;
}

static void send_slot(uint32_t slot, int fd)
{
	struct tracer_msg m = { .op = TRACER_BEGIN, .slot = slot };

	assert_int_equal(tracer_line_send(&ours, &m, &fd, fd >= 0), 0);
}

/* Messages that do not fit wait with their descriptors, and arrive in order. */
static void waits_in_line(void **state)
{
	int fd = memfd_create("test", MFD_CLOEXEC), fds[TRACER_FDS];
	struct stat here, there;
	struct tracer_msg m;
	uint32_t i;

	(void)state;
	assert_int_equal(fstat(fd, &here), 0);
	for (i = 0; i < MANY; i++)
		send_slot(i, i % 100 ? -1 : fd);
	assert_true(tracer_line_waits(&ours));
	close(fd);
	for (i = 0; i < MANY; i++) {
		if (tracer_line_waits(&ours))
			tracer_line_flush(&ours);
		assert_int_equal(tracer_line_receive(&theirs, &m, fds), 0);
		assert_int_equal(m.slot, i);
		assert_int_equal(fds[1], -1);
		if (i % 100) {
			assert_int_equal(fds[0], -1);
			continue;
		}
		assert_int_equal(fstat(fds[0], &there), 0);
		assert_int_equal(here.st_ino, there.st_ino);
		close(fds[0]);
	}
	assert_false(tracer_line_waits(&ours));
	assert_int_equal(tracer_line_receive(&theirs, &m, fds), -EAGAIN);
}

/* An invalid message ends the connection, and its descriptors are closed. */
static void nonsense_leaves_nothing(void **state)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char bytes[sizeof(struct tracer_msg) + 1] = { 0 };
	struct iovec v = { bytes, 1 };
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} c = { .h = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
		       .cmsg_type = SCM_RIGHTS } };
	struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &c,
			    .msg_controllen = sizeof(c) };
	int fds[TRACER_FDS], fd;
	struct tracer_msg m;

	(void)state;
	memcpy(CMSG_DATA(&c.h), &null, sizeof(null));
	for (; v.iov_len <= sizeof(bytes); v.iov_len++) {
		if (v.iov_len == sizeof(m))
			continue;
		assert_int_equal(sendmsg(ours.sock, &h, 0), v.iov_len);
		assert_int_equal(tracer_line_receive(&theirs, &m, fds), -EPIPE);
		assert_int_equal(fds[0], -1);
		assert_int_equal(fds[1], -1);
	}
	/* The next descriptor number is free. */
	fd = dup(null);
	assert_int_equal(fd, null + 1);
	close(fd);
	close(null);
}

/* Messages sent before the end arrive, even if there was unread input. */
static void ends_behind_all(void **state)
{
	struct tracer_msg m = { .op = TRACER_OUTCOME };
	int fds[TRACER_FDS];

	(void)state;
	send_slot(1, -1);
	send_slot(2, -1);
	assert_int_equal(tracer_line_send(&theirs, &m, NULL, 0), 0);
	tracer_line_close(&ours);
	assert_int_equal(tracer_line_receive(&theirs, &m, fds), 0);
	assert_int_equal(m.slot, 1);
	assert_int_equal(tracer_line_receive(&theirs, &m, fds), 0);
	assert_int_equal(m.slot, 2);
	assert_int_equal(tracer_line_receive(&theirs, &m, fds), -EPIPE);
	assert_int_equal(tracer_line_send(&theirs, &m, NULL, 0), -EPIPE);
}

static pid_t serve(void)
{
	pid_t pid = fork();

	if (!pid) {
		close(ours.sock);
		tracer_loop(theirs.sock);
		_exit(0);
	}
	close(theirs.sock);
	theirs.sock = -1;
	return pid;
}

static void answer(struct tracer_msg *m, uint32_t op)
{
	struct pollfd p = { .fd = ours.sock, .events = POLLIN };
	int fds[TRACER_FDS];

	assert_int_equal(poll(&p, 1, 20000), 1);
	assert_int_equal(tracer_line_receive(&ours, m, fds), 0);
	assert_int_equal(m->op, op);
}

static void request(uint32_t op, uint32_t session, uint32_t slot, pid_t pid)
{
	struct tracer_msg m = { .op = op, .session = session, .slot = slot, .pid = pid };

	assert_int_equal(tracer_line_send(&ours, &m, NULL, 0), 0);
}

static void ends(pid_t pid)
{
	int status;

	tracer_line_close(&ours);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void knows_no_session(void **state)
{
	pid_t pid = serve();
	struct tracer_msg m;

	(void)state;
	answer(&m, TRACER_HELLO);
	request(TRACER_BEGIN, 7, 3, 0);
	answer(&m, TRACER_OUTCOME);
	assert_int_equal(m.session, 7);
	assert_int_equal(m.slot, 3);
	assert_int_equal(m.outcome, DEP_EXEC_REFUSED);
	request(TRACER_ATTACH, 7, 0, 1);
	answer(&m, TRACER_ATTACHED);
	assert_int_equal(m.result, -ENOENT);
	request(TRACER_REMOVE, 7, 0, 0);
	ends(pid);
}

static void answers_a_beat(void **state)
{
	pid_t pid = serve();
	struct tracer_msg m;

	(void)state;
	answer(&m, TRACER_HELLO);
	request(TRACER_HEARTBEAT, 0, 0, 0);
	answer(&m, TRACER_HEARTBEAT);
	ends(pid);
}

/* depd has the session mapped as well, and a slot can contain any number. */
static void never_traces_depd(void **state)
{
	struct tracer_msg m = { .op = TRACER_ADD, .session = 1 };
	struct dep_session s;
	struct adept_proc *p;
	pid_t pid = serve();

	(void)state;
	answer(&m, TRACER_HELLO);
	assert_int_equal(dep_session_create(&s, 0, 0, 0, 0, 1000000000), 0);
	m = (struct tracer_msg){ .op = TRACER_ADD, .session = 1, .layout = s.layout };
	assert_int_equal(tracer_line_send(&ours, &m, &s.fd, 1), 0);
	p = dep_session_proc(&s, 5);
	p->state = ADEPT_SLOT_LIVE;
	p->pid = p->exec_tid = (u32)getpid();
	p->exec_state = ADEPT_EXEC_REQUEST;
	request(TRACER_BEGIN, 1, 5, 0);
	answer(&m, TRACER_OUTCOME);
	assert_int_equal(m.outcome, DEP_EXEC_REFUSED);
	assert_non_null(strstr(m.why.text, "impossible"));
	assert_int_equal(p->exec_state, ADEPT_EXEC_NATIVE);
	assert_int_equal(s.map->native_images, 0);
	assert_int_equal(s.map->lost_procs, 1);
	request(TRACER_BEGIN, 1, s.layout.nprocs, 0);
	answer(&m, TRACER_OUTCOME);
	assert_int_equal(m.outcome, DEP_EXEC_REFUSED);
	ends(pid);
	dep_session_destroy(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(waits_in_line, pair, unpair),
		cmocka_unit_test_setup_teardown(nonsense_leaves_nothing, pair, unpair),
		cmocka_unit_test_setup_teardown(ends_behind_all, pair, unpair),
		cmocka_unit_test_setup_teardown(knows_no_session, pair, unpair),
		cmocka_unit_test_setup_teardown(answers_a_beat, pair, unpair),
		cmocka_unit_test_setup_teardown(never_traces_depd, pair, unpair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
