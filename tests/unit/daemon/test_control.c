// SPDX-License-Identifier: GPL-2.0-or-later
/* The control socket: a server in a thread, and clients that are good, bad or slow. */
#include <dirent.h>

#include "test_control.h"

struct fake_server server;
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

void session_of(uid_t uid)
{
	server_call(&server, add_session, &uid);
}

struct change {
	uint32_t id;
	enum session_state state;
	enum dep_close_cause cause;
	const char *error;
};

static void do_change(struct fake_server *s, void *arg)
{
	struct change *c = arg;

	fake_core_change(&s->core, c->id, c->state, c->cause, c->error);
}

void change(uint32_t id, enum session_state state, enum dep_close_cause cause, const char *error)
{
	struct change c = { id, state, cause, error };

	server_call(&server, do_change, &c);
}

static void set_idle(struct fake_server *s, void *ns)
{
	control_set_idle(s->control, *(uint64_t *)ns);
}

void idle_ms(unsigned int ms)
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

void wait_clients(unsigned int n)
{
	int i;

	for (i = 0; i < 1000 && clients() != n; i++)
		usleep(5000);
	assert_int_equal(clients(), n);
}

void expect(const char *answer, const char *what)
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
	session_of(geteuid());
	answer = ask(fd, STATUS);
	expect(answer, "\"start_realtime_ns\":\"1700000000123456789\"");
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
	expect(ask(fd, SESSIONS), "\"exit\":null");
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
	/* More requests than are handled in one pass. */
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
	session_of(geteuid());
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
	change(1, SESSION_ENDING, DEP_CLOSE_STOPPED, "");
	expect(read_line(fd, NULL), "\"event\":\"state\",\"session\":{\"id\":1,");
	change(1, SESSION_ENDED, DEP_CLOSE_STOPPED, "");
	expect(read_line(fd, NULL), "\"event\":\"ended\"");
	expect_end(fd);
	wait_clients(0);
}

static void test_vanishing(void **state)
{
	int fd, i;

	(void)state;
	session_of(geteuid());
	for (i = 0; i < 300; i++) {
		fd = client_connect(server.path);
		if (i % 3)
			send_line(fd, i % 3 == 1 ? STATUS : WATCH(1));
		if (i % 7 == 1)
			usleep(1000);
		close(fd);
	}
	wait_clients(0);
	change(1, SESSION_ENDED, DEP_CLOSE_STOPPED, "");
}

static void test_not_reading(void **state)
{
	int fd = client_connect(server.path), other = client_connect(server.path), i;

	(void)state;
	session_of(geteuid());
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
		change(1, SESSION_RECORDING, DEP_CLOSE_UNKNOWN, "");
	assert_true(i < 20000);
	wait_clients(1);
	close(fd);
	close(other);
}

static void test_reads_late(void **state)
{
	int fd = client_connect(server.path), i, n = 0;

	(void)state;
	session_of(geteuid());
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
		session_of(geteuid());
	for (i = 0; i < left; i++)
		if (!fork())
			storm((seed ? strtoul(seed, NULL, 10) : 1) * 4 + i);
	while (left) {
		change(1 + rand() % 3, SESSION_RECORDING + rand() % 3, DEP_CLOSE_STOPPED,
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
		TEST(test_record), TEST(test_follow), TEST(test_open),
		TEST(test_record_fails),
		TEST(test_gone), TEST(test_events), TEST(test_other_user),
		TEST(test_limits), TEST(test_no_descriptors),
		TEST(test_storm),
	};
	struct rlimit l;

	if (!getrlimit(RLIMIT_NOFILE, &l) && l.rlim_cur < 4096) {
		l.rlim_cur = l.rlim_max < 4096 ? l.rlim_max : 4096;
		setrlimit(RLIMIT_NOFILE, &l);
	}
	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
