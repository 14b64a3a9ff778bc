// SPDX-License-Identifier: GPL-2.0-or-later
/* The control socket: a server in a thread, and clients that are good, bad or slow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "fake_client.h"

#define NOBODY		65534
#define STATUS		"{\"v\":1,\"op\":\"status\"}"
#define SESSIONS	"{\"v\":1,\"op\":\"sessions\"}"
#define RECORD_ARGV(a)	"{\"v\":1,\"op\":\"record\",\"argv\":[\"" a "\"],\"cwd\":\"/\"," \
			"\"store\":\"/s\"}"
#define RECORD		RECORD_ARGV("ls")
#define WATCH(id)	"{\"v\":1,\"op\":\"watch\",\"session\":" #id "}"
#define STOP(id)	"{\"v\":1,\"op\":\"stop\",\"session\":" #id "}"
#define OK		"{\"v\":1,\"ok\":true}"

static struct fake_server server;
static unsigned int descriptors;

static unsigned int count_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static int setup(void **state)
{
	(void)state;
	descriptors = count_descriptors();
	server_start(&server);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	server_stop(&server);
	return count_descriptors() != descriptors;
}

static void add_session(struct fake_server *s, void *uid)
{
	fake_core_session(&s->core, *(uid_t *)uid);
}

static void session_of(uid_t uid)
{
	server_call(&server, add_session, &uid);
}

struct change {
	uint32_t id;
	enum session_state state;
	enum session_cause cause;
	const char *error;
};

static void do_change(struct fake_server *s, void *arg)
{
	struct change *c = arg;

	fake_core_change(&s->core, c->id, c->state, c->cause, c->error);
}

static void change(uint32_t id, enum session_state state, enum session_cause cause,
		   const char *error)
{
	struct change c = { id, state, cause, error };

	server_call(&server, do_change, &c);
}

static void set_idle(struct fake_server *s, void *ns)
{
	control_set_idle(s->control, *(uint64_t *)ns);
}

static void idle_ms(unsigned int ms)
{
	uint64_t ns = ms * 1000000ull;

	server_call(&server, set_idle, &ns);
}

static void count(struct fake_server *s, void *n)
{
	*(unsigned int *)n = control_clients(s->control);
}

static unsigned int clients(void)
{
	unsigned int n;

	server_call(&server, count, &n);
	return n;
}

/* Until there are @n clients. */
static void wait_clients(unsigned int n)
{
	int i;

	for (i = 0; i < 1000 && clients() != n; i++)
		usleep(5000);
	assert_int_equal(clients(), n);
}

static void expect(const char *answer, const char *what)
{
	if (!answer || !strstr(answer, what))
		fail_msg("'%s' has no '%s'", answer ? answer : "(nothing)", what);
}

static void expect_end(int fd)
{
	assert_null(read_line(fd, NULL));
	close(fd);
}

/* ---- requests ---- */

static void test_requests(void **state)
{
	const char *answer;
	cJSON *o, *depd;
	int fd = client_connect(server.path);

	(void)state;
	session_of(0);
	answer = ask(fd, STATUS);
	expect(answer, "\"start_realtime_ns\":1700000000123456789");
	o = cJSON_Parse(answer);
	assert_non_null(o);
	assert_true(cJSON_IsTrue(cJSON_GetObjectItem(o, "ok")));
	depd = cJSON_GetObjectItem(o, "depd");
	assert_string_equal(cJSON_GetObjectItem(depd, "version")->valuestring, "0.fake\"\\");
	assert_int_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(depd, "lag"), "bytes")->valueint,
			 1 << 20);
	cJSON_Delete(o);
	answer = ask(fd, SESSIONS);
	o = cJSON_Parse(answer);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(o, "sessions")), 1);
	cJSON_Delete(o);
	expect(ask(fd, SESSIONS), "\"command\":\"prog \\\"a\\\\b\\\"\\u000a\\ufffd\"");
	expect(ask(fd, "{\"v\":1,\"op\":\"policy\"}"), "\"rules\":[{\"name\":\"all\"}]");
	assert_string_equal(ask(fd, "{\"v\":1,\"op\":\"reload\"}"), OK);
	assert_int_equal(server.core.reloads, 1);
	assert_string_equal(ask(fd, STOP(1)), OK);
	expect(ask(fd, STOP(1)), "\"error\":\"EALREADY\",\"message\":\"session 1 has ended");
	expect(ask(fd, STOP(2)), "\"error\":\"ENOENT\"");
	close(fd);
	wait_clients(0);
}

static void test_many_in_one(void **state)
{
	static const char three[] = STATUS "\n" STOP(9) "\n" SESSIONS "\n{\"v\"";
	int fd = client_connect(server.path), i;

	(void)state;
	send_bytes(fd, three, sizeof(three) - 1);
	expect(read_line(fd, NULL), "\"depd\":");
	expect(read_line(fd, NULL), "ENOENT");
	expect(read_line(fd, NULL), "\"sessions\":[]");
	expect(ask(fd, &STATUS[4]), "\"depd\":");
	/* More than are served in a turn. */
	for (i = 0; i < 500; i++)
		send_line(fd, i & 1 ? STOP(9) : "{\"v\":1}");
	for (i = 0; i < 500; i++)
		expect(read_line(fd, NULL), i & 1 ? "ENOENT" : "EINVAL");
	close(fd);
}

static void test_slow(void **state)
{
	int fd = client_connect(server.path);
	const char *p;

	(void)state;
	idle_ms(1000);
	for (p = STATUS "\n"; *p; p++) {
		send_bytes(fd, p, 1);
		usleep(50000);
	}
	expect(read_line(fd, NULL), "\"depd\":");
	/* Between lines it may wait. */
	usleep(1600000);
	expect(ask(fd, STATUS), "\"depd\":");
	/* Within one it may not. */
	send_bytes(fd, "{\"v\"", 4);
	expect(read_line(fd, NULL), "ETIMEDOUT");
	expect_end(fd);
	wait_clients(0);
}

static void test_malformed(void **state)
{
	static const char *const lines[] = {
		"", "status", "[]", "{}", "{\"v\":2,\"op\":\"status\"}", "\x01\x02",
		"GET / HTTP/1.1",
	};
	size_t i;
	int fd;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		fd = client_connect(server.path);
		send_line(fd, lines[i]);
		send_line(fd, STOP(1));
		expect(read_line(fd, NULL), "\"ok\":false,\"error\":\"EPROTO\"");
		expect_end(fd);
	}
	/* A NUL. */
	fd = client_connect(server.path);
	send_bytes(fd, "{\"v\":1,\0\"op\":\"status\"}\n", 24);
	expect(read_line(fd, NULL), "EPROTO");
	expect_end(fd);
	/* What is merely wrong does not end it. */
	fd = client_connect(server.path);
	expect(ask(fd, "{\"v\":1,\"op\":\"dance\"}"), "EINVAL");
	expect(ask(fd, STATUS), "\"requests\":10,\"requests_refused\":9");
	close(fd);
	wait_clients(0);
}

static void test_huge(void **state)
{
	char *line = malloc(DEPD_LINE_MAX + 1);
	int fd = client_connect(server.path);

	(void)state;
	/* As long as a line may be. */
	memset(line, ' ', DEPD_LINE_MAX + 1);
	memcpy(line, STATUS, strlen(STATUS));
	line[DEPD_LINE_MAX - 1] = '\n';
	send_bytes(fd, line, DEPD_LINE_MAX);
	expect(read_line(fd, NULL), "\"depd\":");
	/* A byte longer. */
	line[DEPD_LINE_MAX - 1] = ' ';
	line[DEPD_LINE_MAX] = '\n';
	send_bytes(fd, line, DEPD_LINE_MAX + 1);
	expect(read_line(fd, NULL), "EMSGSIZE");
	expect_end(fd);
	free(line);
	wait_clients(0);
}

static void test_half_closed(void **state)
{
	int fd = client_connect(server.path), i;

	(void)state;
	session_of(0);
	for (i = 0; i < 300; i++)
		send_line(fd, STATUS);
	send_bytes(fd, STATUS, strlen(STATUS));	/* without a newline */
	shutdown(fd, SHUT_WR);
	for (i = 0; i < 301; i++)
		expect(read_line(fd, NULL), "\"depd\":");
	expect_end(fd);
	/* A part of a line is none. */
	fd = client_connect(server.path);
	send_bytes(fd, STATUS, 10);
	shutdown(fd, SHUT_WR);
	expect(read_line(fd, NULL), "EPROTO");
	expect_end(fd);
	/* Who watches gets what comes until it has ended. */
	fd = client_connect(server.path);
	send_line(fd, WATCH(1));
	shutdown(fd, SHUT_WR);
	expect(read_line(fd, NULL), "\"ok\":true,\"session\":{\"id\":1,");
	change(1, SESSION_ENDING, CAUSE_STOPPED, "");
	expect(read_line(fd, NULL), "\"event\":\"state\",\"session\":{\"id\":1,");
	change(1, SESSION_ENDED, CAUSE_STOPPED, "");
	expect(read_line(fd, NULL), "\"event\":\"ended\"");
	expect_end(fd);
	wait_clients(0);
}

static void test_vanishing(void **state)
{
	int fd, i;

	(void)state;
	session_of(0);
	for (i = 0; i < 300; i++) {
		fd = client_connect(server.path);
		if (i % 3)
			send_line(fd, i % 3 == 1 ? STATUS : WATCH(1));
		if (i % 7 == 1)
			usleep(1000);
		close(fd);
	}
	wait_clients(0);
	change(1, SESSION_ENDED, CAUSE_STOPPED, "");
}

static void test_not_reading(void **state)
{
	int fd = client_connect(server.path), other = client_connect(server.path), i;

	(void)state;
	session_of(0);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	/* Requests without end: it is not listened to any more.. */
	for (i = 0; i < 20000 && send(fd, SESSIONS "\n", strlen(SESSIONS) + 1, 0) > 0; i++)
		;
	assert_true(i < 20000);
	expect(ask(other, STATUS), "\"clients\":2");
	/* ..and dropped after some time, */
	idle_ms(200);
	wait_clients(1);
	close(fd);
	/* or at once for events that pile up. */
	idle_ms(1000000);
	fd = client_connect(server.path);
	expect(ask(fd, WATCH(1)), "\"ok\":true");
	for (i = 0; i < 20000 && clients() == 2; i++)
		change(1, SESSION_RECORDING, CAUSE_NONE, "");
	assert_true(i < 20000);
	wait_clients(1);
	close(fd);
	close(other);
}

static void test_reads_late(void **state)
{
	int fd = client_connect(server.path), i, n = 0;

	(void)state;
	session_of(0);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (send(fd, SESSIONS "\n", strlen(SESSIONS) + 1, 0) == (ssize_t)strlen(SESSIONS) + 1)
		n++;
	usleep(50000);
	/* Not one answer is lost. */
	for (i = 0; i < n; i++)
		expect(read_line(fd, NULL), "\"sessions\":[{\"id\":1,");
	close(fd);
	wait_clients(0);
}

/* ---- sessions ---- */

static void test_record(void **state)
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

static void test_record_fails(void **state)
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

static void test_gone(void **state)
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
	/* Descriptors that never went are closed, and told of as well. */
	fd = client_connect(server.path);
	send_line(fd, RECORD);
	send_line(fd, RECORD);
	close(fd);
	wait_clients(1);
	close(watcher);
}

static void test_events(void **state)
{
	int fd = client_connect(server.path), other = client_connect(server.path);
	const char *line;

	(void)state;
	session_of(0);
	session_of(0);
	expect(ask(fd, WATCH(1)), "\"session\":{\"id\":1,");
	expect(ask(fd, WATCH(1)), "\"session\":{\"id\":1,");
	expect(ask(fd, WATCH(3)), "ENOENT");
	change(2, SESSION_ENDING, CAUSE_STOPPED, "");
	change(1, SESSION_RECORDING, CAUSE_STORE_FAILED, "disk full");
	line = read_line(fd, NULL);
	expect(line, "\"event\":\"error\",\"session\":{\"id\":1,");
	expect(line, "\"error\":\"disk full\"");
	change(1, SESSION_RECORDING, CAUSE_STORE_FAILED, "disk full");
	expect(read_line(fd, NULL), "\"event\":\"state\"");
	/* By another one's request. */
	assert_string_equal(ask(other, STOP(1)), OK);
	expect(read_line(fd, NULL), "\"event\":\"ended\"");
	change(1, SESSION_ENDED, CAUSE_STOPPED, "");
	/* By its own: the event comes before the answer. */
	expect(ask(fd, WATCH(2)), "\"ok\":true");
	expect(ask(fd, STOP(2)), "\"event\":\"ended\"");
	assert_string_equal(read_line(fd, NULL), OK);
	/* Who comes late is told at once. */
	expect(ask(fd, WATCH(2)), "\"ok\":true");
	expect(read_line(fd, NULL), "\"event\":\"ended\"");
	expect(ask(fd, STATUS), "\"depd\"");
	close(fd);
	close(other);
}

/* ---- users ---- */

/* In a process of another user: 0 or the number of the step that failed. */
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

static void test_other_user(void **state)
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
	/* One goes, one may come. */
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

static void test_limits(void **state)
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

/* Without descriptors the server waits for some, and serves who is there. */
static void test_no_descriptors(void **state)
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

/* ---- all at once ---- */

static void random_bytes(int fd)
{
	char buf[3000];
	size_t i;

	for (i = 0; i < sizeof(buf); i++)
		buf[i] = rand();
	send_bytes(fd, buf, rand() % sizeof(buf));
}

/* Something that a client may do, or should not. */
static void random_act(int fd)
{
	static const char *const lines[] = {
		STATUS, SESSIONS, RECORD, WATCH(1), WATCH(2), STOP(3), RECORD_ARGV("fail"),
		RECORD_ARGV("bad-descriptor"), "{\"v\":1}", "{\"v\":1,\"op\":\"policy\"}",
	};
	const char *line = lines[rand() % 10];
	int fds[2];

	switch (rand() % 10) {
	case 0:
		send_bytes(fd, line, rand() % strlen(line));
		break;
	case 1:
		shutdown(fd, rand() % 3);
		break;
	case 2:
		if (rand() % 4 == 0)
			random_bytes(fd);
		break;
	case 3:
	case 4:
		usleep(rand() % 2000);
		break;
	default:
		send_line(fd, line);
		if (rand() & 1 && recv(fd, fds, 1, MSG_DONTWAIT | MSG_PEEK) > 0)
			read_line(fd, NULL);
	}
}

static void storm(unsigned int seed)
{
	int fd[8] = { 0 }, i, k;

	srand(seed);
	for (i = 0; i < 3000; i++) {
		k = rand() % 8;
		if (fd[k] && rand() % 6 == 0) {
			close(fd[k]);
			fd[k] = 0;
		} else if (fd[k]) {
			random_act(fd[k]);
		} else {
			fd[k] = client_connect(server.path);
			fcntl(fd[k], F_SETFL, O_NONBLOCK);
		}
	}
	_exit(0);
}

static void test_storm(void **state)
{
	const char *seed = getenv("ADEPT_TEST_SEED");
	int fd, i, status, left = 4;

	(void)state;
	idle_ms(50);
	for (i = 0; i < 3; i++)
		session_of(0);
	for (i = 0; i < left; i++)
		if (!fork())
			storm((seed ? strtoul(seed, NULL, 10) : 1) * 4 + i);
	while (left) {
		change(1 + rand() % 3, SESSION_RECORDING + rand() % 3, CAUSE_STOPPED,
		       rand() & 1 ? "error" : "");
		usleep(500);
		if (waitpid(-1, &status, WNOHANG) > 0) {
			assert_int_equal(status, 0);
			left--;
		}
	}
	wait_clients(0);
	fd = client_connect(server.path);
	expect(ask(fd, STATUS), "\"clients\":1,");
	close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_requests), TEST(test_many_in_one), TEST(test_slow),
		TEST(test_malformed), TEST(test_huge), TEST(test_half_closed),
		TEST(test_vanishing), TEST(test_not_reading), TEST(test_reads_late),
		TEST(test_record), TEST(test_record_fails), TEST(test_gone), TEST(test_events),
		TEST(test_other_user), TEST(test_limits), TEST(test_no_descriptors),
		TEST(test_storm),
	};
	struct rlimit l;

	if (!getrlimit(RLIMIT_NOFILE, &l) && l.rlim_cur < 4096) {
		l.rlim_cur = l.rlim_max < 4096 ? l.rlim_max : 4096;
		setrlimit(RLIMIT_NOFILE, &l);
	}
	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
