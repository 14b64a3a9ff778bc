// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Descriptors outlive the process that stored them; limits and end of the holder; messages to
 * systemd.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

#include <cmocka.h>

#include "daemon/fdstore/fdstore.h"
#include "daemon/fdstore/internal.h"
#include "daemon/fdstore/holder.h"
#include "daemon/base/rundir.h"

static char dir[] = "/tmp/adept-keep.XXXXXX", *template_end;
static char why[512];

static int memory(const char *text)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

static void assert_text(int fd, const char *text)
{
	char got[64] = "";

	assert_true(pread(fd, got, sizeof(got) - 1, 0) >= 0);
	assert_string_equal(got, text);
}

static struct fdstore *open_keep(struct fdstore_entry **kept, size_t *n)
{
	struct fdstore *k;
	int ret = fdstore_open(&k, dir, kept, n, why, sizeof(why));

	if (ret)
		print_message("%s\n", why);
	assert_int_equal(ret, 0);
	assert_string_equal(why, "");
	return k;
}

static struct fdstore *open_empty(void)
{
	struct fdstore_entry *kept;
	struct fdstore *k;
	size_t n;

	k = open_keep(&kept, &n);
	assert_int_equal(n, 0);
	free(kept);
	return k;
}

static void put(struct fdstore *k, const char *name, const char *text)
{
	int fd = memory(text);

	assert_int_equal(fdstore_put(k, name, fd), 0);
	close(fd);
}

static void free_kept(struct fdstore_entry *kept, size_t n)
{
	while (n--)
		close(kept[n].fd);
	free(kept);
}

/* This process adopts the holder: pid of the only child; 0: there is none. */
static pid_t holder(void)
{
	char path[64], line[256] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "r");
	assert_non_null(f);
	if (fgets(line, sizeof(line), f))
		assert_null(strchr(strchr(line, ' ') + 1, ' '));
	fclose(f);
	return atoi(line);
}

static bool holder_ends(unsigned int ms)
{
	unsigned int i;

	for (i = 0; i <= ms; i += 10) {
		if (waitpid(-1, NULL, WNOHANG))
			return true;
		usleep(10000);
	}
	return false;
}

/* Run @what in a process that then kills itself, unless it is killed before. */
static void killed(void (*what)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		what();
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static int setup(void **state)
{
	(void)state;
	holder_limits = (struct holder_limits){ 10000, 600000, HOLDER_FDS_MAX };
	strcpy(template_end, "XXXXXX");
	return !mkdtemp(dir);
}

static int teardown(void **state)
{
	char command[128];
	pid_t pid;

	(void)state;
	/* Some processes still hold descriptors. */
	while ((pid = holder())) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

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

static void foreign_user(void **state)
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

static void clients_that_die(void **state)
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
	template_end = dir + strlen(dir) - 6;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	unsetenv("NOTIFY_SOCKET");
	return cmocka_run_group_tests_name("keep", tests, NULL, NULL);
}
