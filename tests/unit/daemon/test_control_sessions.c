// SPDX-License-Identifier: GPL-2.0-or-later
/* The control socket: sessions and their events, other users, limits. */
#include "test_control.h"

#define NOBODY		65534

/* ---- sessions ---- */

void test_record(void **state)
{
	int fd = client_connect(server.path), fds[2], i;
	char text[5] = "";

	(void)state;
	send_line(fd, STATUS);
	send_line(fd, "{\"v\":1,\"op\":\"record\",\"argv\":[\"ls\",\"-l\"],\"cwd\":\"/usr\","
		  "\"store\":\"/tmp/s\",\"options\":{\"drop\":true}}");
	send_line(fd, STATUS);
	expect(read_line(fd, fds), "\"depd\":");
	assert_int_equal(fds[0], -1);
	expect(read_line(fd, fds), "\"ok\":true,\"descriptors\":2,\"session\":{\"id\":1,");
	for (i = 0; i < 2; i++) {
		assert_true(fds[i] >= 0);
		assert_int_equal(pread(fds[i], text, 4, 0), 4);
		assert_string_equal(text, i ? "ring" : "file");
		close(fds[i]);
	}
	expect(read_line(fd, fds), "\"depd\":");
	assert_int_equal(fds[0], -1);
	assert_string_equal(server.core.last_argv, "-l");
	assert_string_equal(server.core.last_cwd, "/usr");
	assert_string_equal(server.core.last_store, "/tmp/s");
	assert_int_equal(server.core.last_flags, 4);
	assert_string_equal(ask(fd, "{\"v\":1,\"op\":\"launched\",\"session\":1,\"pid\":77,"
				"\"native\":true,\"why\":\"set-uid\"}"), OK);
	assert_string_equal(server.core.last_why, "set-uid");
	assert_string_equal(ask(fd, "{\"v\":1,\"op\":\"ended\",\"session\":1,\"status\":256}"), OK);
	assert_int_equal(server.core.last_status, 256);
	close(fd);
	wait_clients(0);
	assert_int_equal(server.core.gone, 0);
}

/* Who follows a session gets its file, and hears of its end. */
void test_follow(void **state)
{
	int maker = client_connect(server.path), fd = client_connect(server.path), fds[2];
	char text[5] = "";

	(void)state;
	send_line(maker, RECORD);
	expect(read_line(maker, fds), "\"id\":1");
	close(fds[0]);
	close(fds[1]);
	send_line(fd, "{\"v\":1,\"op\":\"follow\",\"session\":9}");
	expect(read_line(fd, fds), "\"error\":\"ENOENT\"");
	assert_int_equal(fds[0], -1);
	send_line(fd, "{\"v\":1,\"op\":\"follow\",\"session\":1}");
	expect(read_line(fd, fds), "\"ok\":true,\"descriptors\":1,\"session\":{\"id\":1,");
	assert_true(fds[0] >= 0);
	assert_int_equal(fds[1], -1);
	assert_int_equal(pread(fds[0], text, 4, 0), 4);
	assert_string_equal(text, "file");
	close(fds[0]);
	assert_string_equal(ask(maker, "{\"v\":1,\"op\":\"ended\",\"session\":1,\"status\":0}"),
			    OK);
	expect(read_line(fd, fds), "\"event\":\"ended\"");
	close(fd);
	close(maker);
	wait_clients(0);
}

/* Who opens a session gets its file, but no events. */
void test_open(void **state)
{
	int maker = client_connect(server.path), fd = client_connect(server.path), fds[2];
	char text[5] = "";

	(void)state;
	send_line(maker, RECORD);
	expect(read_line(maker, fds), "\"id\":1");
	close(fds[0]);
	close(fds[1]);
	send_line(fd, "{\"v\":1,\"op\":\"open\",\"session\":9}");
	expect(read_line(fd, fds), "\"error\":\"ENOENT\"");
	assert_int_equal(fds[0], -1);
	send_line(fd, "{\"v\":1,\"op\":\"open\",\"pid\":5}");
	expect(read_line(fd, fds), "\"ok\":true,\"descriptors\":1,\"session\":{\"id\":1,");
	assert_true(fds[0] >= 0);
	assert_int_equal(fds[1], -1);
	assert_int_equal(pread(fds[0], text, 4, 0), 4);
	assert_string_equal(text, "file");
	close(fds[0]);
	assert_string_equal(ask(maker, "{\"v\":1,\"op\":\"ended\",\"session\":1,\"status\":0}"),
			    OK);
	expect(ask(fd, STATUS), "\"depd\":");
	close(fd);
	close(maker);
	wait_clients(0);
}

void test_record_fails(void **state)
{
	int fd = client_connect(server.path), fds[2];

	(void)state;
	expect(ask(fd, RECORD_ARGV("fail")), "\"error\":\"ENOSPC\",\"message\":\"made to fail\"");
	/* The session is there, but its descriptors cannot be passed. */
	send_line(fd, RECORD_ARGV("bad-descriptor"));
	expect(read_line(fd, fds), "\"error\":\"EBADF\"");
	assert_int_equal(fds[0], -1);
	expect(ask(fd, STATUS), "\"depd\":");
	assert_int_equal(server.core.gone, 1);
	close(fd);
	wait_clients(0);
	assert_int_equal(server.core.gone, 1);
}

void test_gone(void **state)
{
	int fd = client_connect(server.path), fds[2], watcher;

	(void)state;
	send_line(fd, RECORD);
	expect(read_line(fd, fds), "\"id\":1");
	close(fds[0]);
	close(fds[1]);
	watcher = client_connect(server.path);
	expect(ask(watcher, WATCH(1)), "\"state\":\"open\"");
	close(fd);
	expect(read_line(watcher, NULL), "\"event\":\"ended\"");
	assert_int_equal(server.core.gone, 1);
	assert_int_equal(server.core.last_gone, 1);
	/* Descriptors that were not sent are closed, and the core is notified. */
	fd = client_connect(server.path);
	send_line(fd, RECORD);
	send_line(fd, RECORD);
	close(fd);
	wait_clients(1);
	close(watcher);
}

void test_events(void **state)
{
	int fd = client_connect(server.path), other = client_connect(server.path);
	const char *line;

	(void)state;
	session_of(geteuid());
	session_of(geteuid());
	expect(ask(fd, WATCH(1)), "\"session\":{\"id\":1,");
	expect(ask(fd, WATCH(1)), "\"session\":{\"id\":1,");
	expect(ask(fd, WATCH(3)), "ENOENT");
	change(2, SESSION_ENDING, DEP_CLOSE_STOPPED, "");
	change(1, SESSION_RECORDING, DEP_CLOSE_FAILED, "disk full");
	line = read_line(fd, NULL);
	expect(line, "\"event\":\"error\",\"session\":{\"id\":1,");
	expect(line, "\"error\":\"disk full\"");
	change(1, SESSION_RECORDING, DEP_CLOSE_FAILED, "disk full");
	expect(read_line(fd, NULL), "\"event\":\"state\"");
	/* By a request of another client. */
	assert_string_equal(ask(other, STOP(1)), OK);
	expect(read_line(fd, NULL), "\"event\":\"ended\"");
	change(1, SESSION_ENDED, DEP_CLOSE_STOPPED, "");
	/* By its own request: the event comes before the response. */
	expect(ask(fd, WATCH(2)), "\"ok\":true");
	expect(ask(fd, STOP(2)), "\"event\":\"ended\"");
	assert_string_equal(read_line(fd, NULL), OK);
	/* A client that watches an ended session gets the event at once. */
	expect(ask(fd, WATCH(2)), "\"ok\":true");
	expect(read_line(fd, NULL), "\"event\":\"ended\"");
	expect(ask(fd, STATUS), "\"depd\"");
	close(fd);
	close(other);
}

/* ---- users ---- */

/* In a process of another user: return 0 or the number of the failed step. */
static int as_nobody(void)
{
	int fd;

	if (setgid(NOBODY) || setuid(NOBODY))
		return 1;
	fd = client_connect(server.path);
	if (!strstr(ask(fd, SESSIONS), "\"sessions\":[{\"id\":2,") ||
	    strstr(ask(fd, SESSIONS), "\"id\":1,"))
		return 2;
	if (!strstr(ask(fd, WATCH(1)), "ENOENT") || !strstr(ask(fd, WATCH(2)), "\"ok\":true"))
		return 3;
	if (!strstr(ask(fd, STOP(1)), "ENOENT"))
		return 4;
	if (!strstr(ask(fd, "{\"v\":1,\"op\":\"reload\"}"), "EPERM"))
		return 5;
	if (!strstr(ask(fd, STATUS), "\"depd\""))
		return 6;
	if (!strstr(ask(fd, RECORD), "\"uid\":65534,"))
		return 7;
	if (!strstr(ask(fd, STOP(2)), "\"event\":\"ended\"") || strcmp(read_line(fd, NULL), OK))
		return 8;
	return 0;
}

static void run_child(int (*what)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid)
		_exit(what());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

void test_other_user(void **state)
{
	int fd;

	(void)state;
	if (geteuid())
		skip();
	session_of(0);
	session_of(NOBODY);
	run_child(as_nobody);
	wait_clients(0);
	assert_int_equal(server.core.reloads, 0);
	assert_int_equal(server.core.last_uid, NOBODY);
	fd = client_connect(server.path);
	expect(ask(fd, SESSIONS), "\"id\":2,");
	close(fd);
}

static int too_many(void)
{
	int fd[CONTROL_USER_CLIENTS_MAX + 1], i;

	if (setgid(NOBODY) || setuid(NOBODY))
		return 1;
	for (i = 0; i < CONTROL_USER_CLIENTS_MAX; i++) {
		fd[i] = client_connect(server.path);
		if (!strstr(ask(fd[i], STATUS), "\"depd\""))
			return 2;
	}
	fd[i] = client_connect(server.path);
	if (!strstr(read_line(fd[i], NULL), "EUSERS") || read_line(fd[i], NULL))
		return 3;
	/* When one client disconnects, another one may connect. */
	close(fd[0]);
	for (i = 0; i < 200; i++) {
		usleep(5000);
		fd[0] = client_connect(server.path);
		if (strstr(ask(fd[0], STATUS), "\"depd\""))
			return 0;
		close(fd[0]);
	}
	return 4;
}

void test_limits(void **state)
{
	int fd[CONTROL_CLIENTS_MAX + 1], i;

	(void)state;
	if (!geteuid()) {
		run_child(too_many);
		wait_clients(0);
		for (i = 0; i < CONTROL_CLIENTS_MAX; i++) {
			fd[i] = client_connect(server.path);
			expect(ask(fd[i], STOP(1)), "ENOENT");
		}
		fd[i] = client_connect(server.path);
		expect(read_line(fd[i], NULL), "EUSERS");
		for (i = 0; i <= CONTROL_CLIENTS_MAX; i++)
			close(fd[i]);
		wait_clients(0);
	}
}

/* Without free descriptors the server waits for some, and handles connected clients. */
void test_no_descriptors(void **state)
{
	int fd = client_connect(server.path), later;
	struct rlimit old, few;

	(void)state;
	expect(ask(fd, STATUS), "\"depd\"");
	idle_ms(400);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	few.rlim_cur = 3;
	later = socket(AF_UNIX, SOCK_STREAM, 0);
	setrlimit(RLIMIT_NOFILE, &few);
	connect_to(later, server.path);
	send_line(later, STATUS);
	usleep(150000);
	expect(ask(fd, STATUS), "\"clients\":1,");
	setrlimit(RLIMIT_NOFILE, &old);
	expect(read_line(later, NULL), "\"clients\":2,");
	close(fd);
	close(later);
}
