// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Descriptors outlive the process that stored them; limits and end of the holder; messages to
 * systemd.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/base/rundir.h"
#include "daemon/fdstore/internal.h"
#include "test_fdstore.h"

static void put_three(void)
{
	struct fdstore *k = open_empty();

	put(k, "session-1", "one");
	put(k, "session-2", "two");
	put(k, "session-3", "three");
	fdstore_remove(k, "session-2");
}

static void outlives_kill(void **state)
{
	struct fdstore_entry *kept;
	struct fdstore *k;
	size_t n;
	int i;

	(void)state;
	killed(put_three);
	for (i = 0; i < 2; i++) {
		k = open_keep(&kept, &n);
		assert_int_equal(n, 2);
		assert_string_equal(kept[0].name, "session-1");
		assert_text(kept[0].fd, "one");
		assert_string_equal(kept[1].name, "session-3");
		assert_text(kept[1].fd, "three");
		assert_true(fcntl(kept[0].fd, F_GETFD) & FD_CLOEXEC);
		free_kept(kept, n);
		if (i)
			break;
		/* it continues to hold what it has passed on */
		fdstore_close(k);
	}
	assert_int_equal(fdstore_put(k, "session-1", 0), -EEXIST);
	assert_int_equal(fdstore_remove(k, "session-1"), 0);
	assert_int_equal(fdstore_remove(k, "session-3"), 0);
	fdstore_close(k);
	assert_true(holder_ends(2000));
}

static void a_process_of_its_own(void **state)
{
	struct fdstore *k = open_empty();
	char path[64], text[64] = "";
	pid_t pid = holder();
	unsigned int fds = 0;
	struct dirent *e;
	DIR *d;
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	fd = open(path, O_RDONLY);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	assert_string_equal(text, "depd-holder\n");
	/* pidof compares the first argument. */
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	fd = open(path, O_RDONLY);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	assert_string_equal(text, "depd-holder");
	snprintf(path, sizeof(path), "/proc/%d/cwd", pid);
	assert_int_equal(readlink(path, text, sizeof(text)), 1);
	assert_int_not_equal(getsid(pid), getsid(0));
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	while ((e = readdir(d)))
		fds += e->d_name[0] != '.';
	closedir(d);
	/* three times /dev/null, the socket, and ours */
	assert_int_equal(fds, 5);
	assert_int_equal(kill(pid, SIGHUP), 0);
	put(k, "a", "");
	assert_int_equal(fdstore_remove(k, "a"), 0);
	fdstore_close(k);
	assert_true(holder_ends(2000));
}

static void names(void **state)
{
	static const char *bad[] = { "", "a:b", "a/b", "a b", "\n", "\xc3\xa4",
		"0123456789012345678901234567890123456789012345678901234567890123" };
	struct holder_msg m = { .op = HOLDER_PUT, .name = "a:b" };
	struct fdstore *k = open_empty();
	unsigned int i;
	int fd;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(fdstore_put(k, bad[i], 0), -EINVAL);
	/* The holder checks what depd should have checked. */
	assert_int_equal(holder_send(fdstore_fd(k), &m, 0), 0);
	assert_int_equal(holder_receive(fdstore_fd(k), &m, &fd), 0);
	assert_int_equal(m.result, -EINVAL);
	put(k, "012345678901234567890123456789012345678901234567890123456789.-_", "");
	assert_int_equal(fdstore_remove(k, "a"), -ENOENT);
	assert_int_equal(fdstore_put(k, "a", -1), -EINVAL);
	fdstore_close(k);
}

static void limit(void **state)
{
	struct rlimit files;
	struct fdstore_entry *kept;
	struct fdstore *k;
	char name[32];
	size_t n;
	int i;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	if (files.rlim_cur < HOLDER_FDS_MAX + 64)
		skip();
	k = open_empty();
	for (i = 0; i < HOLDER_FDS_MAX; i++) {
		snprintf(name, sizeof(name), "session-%d", i);
		if (fdstore_put(k, name, 0))
			break;
	}
	assert_int_equal(i, HOLDER_FDS_MAX);
	assert_int_equal(fdstore_put(k, "more", 0), -ENOSPC);
	fdstore_close(k);
	k = open_keep(&kept, &n);
	assert_int_equal(n, HOLDER_FDS_MAX);
	assert_string_equal(kept[n - 1].name, name);
	free_kept(kept, n);
	assert_int_equal(fdstore_remove(k, "session-7"), 0);
	assert_int_equal(fdstore_put(k, "more", 0), 0);
	assert_int_equal(fdstore_put(k, "more-2", 0), -ENOSPC);
	fdstore_close(k);
}

static void limit_of_the_holder(void **state)
{
	struct fdstore *k;

	(void)state;
	holder_limits.fds = 2;
	k = open_empty();
	put(k, "a", "");
	put(k, "b", "");
	assert_int_equal(fdstore_put(k, "c", 0), -ENOSPC);
	assert_int_equal(fdstore_remove(k, "a"), 0);
	assert_int_equal(fdstore_put(k, "c", 0), 0);
	fdstore_close(k);
}

static void one_at_a_time(void **state)
{
	struct fdstore *k = open_empty(), *second;
	struct fdstore_entry *kept;
	size_t n;

	(void)state;
	put(k, "a", "text");
	assert_int_equal(fdstore_open(&second, dir, &kept, &n, why, sizeof(why)), -EBUSY);
	assert_non_null(strstr(why, "another depd"));
	/* the first client is not affected */
	put(k, "b", "");
	fdstore_close(k);
	second = open_keep(&kept, &n);
	assert_int_equal(n, 2);
	free_kept(kept, n);
	fdstore_close(second);
}

static void ends(void **state)
{
	struct fdstore *k;
	int fd;

	(void)state;
	/* nobody has come */
	holder_limits.start_ms = 100;
	holder_limits.idle_ms = 300;
	fd = rundir_socket(dir, HOLDER_SOCKET, SOCK_SEQPACKET, 0600);
	assert_int_equal(holder_start(fd, dir), 0);
	close(fd);
	assert_true(holder_ends(2000));
	/* a holder with a descriptor but without depd, and a stale socket */
	k = open_empty();
	put(k, "a", "");
	assert_false(holder_ends(600));
	fdstore_close(k);
	assert_false(holder_ends(150));
	assert_true(holder_ends(2000));
	/* the descriptor is lost with the holder */
	k = open_empty();
	fdstore_close(k);
	assert_true(holder_ends(2000));
}

static void holder_dies(void **state)
{
	struct fdstore *k = open_empty();
	struct pollfd p = { .fd = fdstore_fd(k), .events = POLLIN };

	(void)state;
	put(k, "a", "");
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_false(fdstore_lost(k));
	kill(holder(), SIGKILL);
	assert_true(holder_ends(2000));
	assert_int_equal(poll(&p, 1, 0), 1);
	assert_true(fdstore_lost(k));
	assert_int_equal(fdstore_put(k, "b", 0), -EPIPE);
	assert_int_equal(fdstore_remove(k, "a"), -EPIPE);
	assert_int_equal(fdstore_fd(k), -1);
	assert_true(fdstore_lost(k));
	/* The next holder has none. */
	assert_int_equal(fdstore_retry(k, dir, why, sizeof(why)), 0);
	assert_false(fdstore_lost(k));
	assert_int_equal(fdstore_remove(k, "a"), -ENOENT);
	put(k, "a", "");
	fdstore_close(k);
}

static void holder_hangs(void **state)
{
	struct fdstore *k = open_empty();

	(void)state;
	kill(holder(), SIGSTOP);
	assert_int_equal(fdstore_put(k, "a", 0), -ETIMEDOUT);
	assert_int_equal(fdstore_put(k, "a", 0), -EPIPE);
	assert_true(fdstore_lost(k));
	assert_int_not_equal(fdstore_retry(k, dir, why, sizeof(why)), 0);
	assert_string_not_equal(why, "");
	assert_true(fdstore_lost(k));
	kill(holder(), SIGCONT);
	/* It had received the first request, and has processed it in the meantime. */
	assert_int_equal(fdstore_retry(k, dir, why, sizeof(why)), 0);
	assert_int_equal(fdstore_put(k, "a", 0), -EEXIST);
	assert_int_equal(fdstore_remove(k, "a"), 0);
	fdstore_close(k);
}

/* ---- systemd, simulated by the test ---- */

static int play_systemd(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	setenv("SYSTEMD_EXEC_PID", pid, 1);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/notify", dir);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	setenv("NOTIFY_SOCKET", a.sun_path, 1);
	setenv("FDSTORE", "4096", 1);
	return fd;
}

static void hear(int sock, char *text, size_t size, int *fd)
{
	char room[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
	struct iovec v = { text, size - 1 };
	struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = room,
			    .msg_controllen = sizeof(room) };
	struct cmsghdr *c;
	ssize_t n;

	*fd = -1;
	n = recvmsg(sock, &h, MSG_DONTWAIT);
	assert_true(n >= 0);
	text[n] = 0;
	for (c = CMSG_FIRSTHDR(&h); c; c = CMSG_NXTHDR(&h, c))
		if (c->cmsg_type == SCM_RIGHTS)
			memcpy(fd, CMSG_DATA(c), sizeof(int));
}

static void systemd_store(void **state)
{
	int fd, sock = play_systemd();
	struct fdstore *k = open_empty();
	char text[256];

	(void)state;
	assert_int_equal(fdstore_fd(k), -1);
	put(k, "session-1", "one");
	hear(sock, text, sizeof(text), &fd);
	assert_string_equal(text, "FDSTORE=1\nFDPOLL=0\nFDNAME=session-1");
	assert_text(fd, "one");
	close(fd);
	assert_int_equal(fdstore_put(k, "session-1", 0), -EEXIST);
	assert_int_equal(fdstore_put(k, "a:b", 0), -EINVAL);
	assert_int_equal(fdstore_remove(k, "session-1"), 0);
	hear(sock, text, sizeof(text), &fd);
	assert_string_equal(text, "FDSTOREREMOVE=1\nFDNAME=session-1");
	assert_int_equal(fdstore_remove(k, "session-1"), -ENOENT);
	close(sock);
	assert_true(fdstore_put(k, "session-2", 0) < 0);
	fdstore_close(k);
	/* started by a service, but not the service itself: use a holder */
	setenv("SYSTEMD_EXEC_PID", "1", 1);
	k = open_empty();
	assert_true(fdstore_fd(k) >= 0);
	fdstore_close(k);
	unsetenv("SYSTEMD_EXEC_PID");
	unsetenv("NOTIFY_SOCKET");
	unsetenv("FDSTORE");
}

/* In a child, since it uses descriptors from 3 on. */
static void take_passed(void)
{
	char pid[16];
	struct fdstore_entry *kept;
	struct fdstore *k;
	size_t n;
	int fd[4];

	fcntl(play_systemd(), F_DUPFD, 100);
	fd[0] = rundir_listen(dir, "depd.sock", 0600);
	/* as systemd passes it */
	fcntl(fd[0], F_SETFL, 0);
	fd[1] = memory("one");
	fd[2] = memory("two");
	fd[3] = memory("nameless");
	for (n = 0; n < 4; n++)
		fd[n] = fcntl(fd[n], F_DUPFD, 100);
	for (n = 0; n < 4; n++)
		dup2(fd[n], 3 + n);
	snprintf(pid, sizeof(pid), "%d", getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", "4", 1);
	setenv("LISTEN_FDNAMES", "control:session-1:session-2:not ours", 1);
	k = open_keep(&kept, &n);
	assert_int_equal(n, 2);
	assert_string_equal(kept[0].name, "session-1");
	assert_text(kept[0].fd, "one");
	assert_text(kept[1].fd, "two");
	assert_int_equal(fcntl(6, F_GETFD), -1);
	assert_null(getenv("LISTEN_FDS"));
	assert_int_equal(fdstore_listen(k, "metrics"), -ENOENT);
	assert_int_equal(fdstore_listen(k, "control"), 3);
	assert_true(fcntl(3, F_GETFL) & O_NONBLOCK);
	assert_int_equal(fdstore_listen(k, "control"), -ENOENT);
	assert_int_equal(fdstore_remove(k, "session-2"), 0);
}

static void systemd_passes(void **state)
{
	(void)state;
	killed(take_passed);
}

int main(int argc, char **argv)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(outlives_kill), T(a_process_of_its_own), T(names), T(limit),
		T(limit_of_the_holder), T(one_at_a_time), T(foreign_user), T(clients_that_die),
		T(ends), T(holder_dies), T(holder_hangs), T(systemd_store), T(systemd_passes),
	};

	if (argc && !strcmp(argv[0], HOLDER_NAME))
		holder_main(argc, argv);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	unsetenv("NOTIFY_SOCKET");
	return cmocka_run_group_tests_name("keep", tests, NULL, NULL);
}
