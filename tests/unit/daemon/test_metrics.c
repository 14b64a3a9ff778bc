// SPDX-License-Identifier: GPL-2.0-or-later
/* The metrics socket; tests/metrics.sh checks the format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_client.h"

#define READERS	32	/* maximum number of connections */

static struct fake_server server;
static char buf[1 << 20];

static void add_sessions(struct fake_server *s, void *arg)
{
	(void)arg;
	fake_core_session(&s->core, 1000);
	fake_core_session(&s->core, 0);
	fake_core_change(&s->core, 2, SESSION_ENDED, DEP_CLOSE_STOPPED, "");
}

static int setup(void **state)
{
	(void)state;
	server_start(&server);
	server_call(&server, add_sessions, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	server_stop(&server);
	return 0;
}

static void expect(const char *what)
{
	if (!strstr(buf, what))
		fail_msg("there is no '%s' in: %s", what, buf);
}

static void expect_bare(int fd)
{
	size_t n = read_rest(fd, buf, sizeof(buf));

	assert_true(n > 1000);
	assert_memory_equal(buf, "# TYPE adept_", 13);
	assert_string_equal(buf + n - 6, "# EOF\n");
	close(fd);
}

static void test_text(void **state)
{
	int fd = client_connect(server.metrics_path);

	(void)state;
	expect_bare(fd);
	expect("# TYPE adept_build info\n");
	expect("\nadept_build_info{version=\"0.fake\\\"\\\\\"} 1\n");
	expect("# TYPE adept_chunks counter\n");
	expect("\nadept_chunks_total 10\n");
	expect("# UNIT adept_cpu_seconds seconds\n");
	expect("\nadept_cpu_seconds_total 1.500000001\n");
	expect("\nadept_stage_seconds_total{stage=\"pack\"} 2.000000000\n");
	/* The names are those of `depctl status --json`. */
	expect("\nadept_sessions_started_total 2\n");
	expect("\nadept_writer_threads 2\n");
	expect("\nadept_writer_threads_busy 1\n");
	expect("\nadept_policy_unrecorded_total 0\n");
	expect("\nadept_sessions_ended_total{cause=\"stopped\"} 1\n");
	expect("\nadept_loss_bytes_total{cause=\"dropped\"} 4096\n");
	expect("\nadept_lag_bytes 2097152\n");
	/* Only open sessions, with escaped text. */
	expect("\nadept_session_info{session=\"1\",uid=\"1000\",state=\"recording\","
	       "transport=\"shm\",rule=\"\",command=\"prog \\\"a\\\\b\\\"\\n\xef\xbf\xbd\"} 1\n");
	expect("\nadept_session_stored_bytes_total{session=\"1\"} 300000\n");
	assert_null(strstr(buf, "session=\"2\""));
}

static void test_bare(void **state)
{
	int fd;

	(void)state;
	/* Something else, */
	fd = client_connect(server.metrics_path);
	send_bytes(fd, "hello", 5);
	expect_bare(fd);
	fd = client_connect(server.metrics_path);
	send_bytes(fd, "GETTING", 7);
	expect_bare(fd);
	/* and the end of the stream. */
	fd = client_connect(server.metrics_path);
	shutdown(fd, SHUT_WR);
	expect_bare(fd);
	fd = client_connect(server.metrics_path);
	send_bytes(fd, "GE", 2);
	shutdown(fd, SHUT_WR);
	expect_bare(fd);
}

/* The body, whose length must be that in the header. */
static const char *body_of(size_t n)
{
	const char *body = strstr(buf, "\r\n\r\n"), *length = strstr(buf, "Content-Length: ");

	assert_non_null(body);
	assert_non_null(length);
	body += 4;
	assert_int_equal(atoi(length + 16), n - (body - buf));
	return body;
}

static void test_http(void **state)
{
	static const char get[] = "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n";
	int fd = client_connect(server.metrics_path);
	const char *p;

	(void)state;
	send_bytes(fd, get, sizeof(get) - 1);
	body_of(read_rest(fd, buf, sizeof(buf)));
	close(fd);
	assert_memory_equal(buf, "HTTP/1.1 200 OK\r\n", 17);
	expect("\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n");
	expect("\r\nConnection: close\r\n");
	expect("# EOF\n");
	/* In pieces. */
	fd = client_connect(server.metrics_path);
	for (p = get; *p; p++) {
		send_bytes(fd, p, 1);
		usleep(3000);
	}
	body_of(read_rest(fd, buf, sizeof(buf)));
	close(fd);
	/* A request without end: only the beginning is read. */
	fd = client_connect(server.metrics_path);
	memset(buf, 'x', 9000);
	memcpy(buf, "GET /", 5);
	send_bytes(fd, buf, 9000);
	read_rest(fd, buf, sizeof(buf));
	assert_memory_equal(buf, "HTTP/1.1 200 OK\r\n", 17);
	close(fd);
}

static void test_classic(void **state)
{
	static const char get[] = "GET / HTTP/1.1\r\naccept: text/plain;q=0.5\r\n\r\n";
	static const char both[] = "GET / HTTP/1.1\r\nAccept: application/openmetrics-text;"
				   "version=1.0.0,text/plain;q=0.3\r\n\r\n";
	int fd = client_connect(server.metrics_path);

	(void)state;
	send_bytes(fd, get, sizeof(get) - 1);
	body_of(read_rest(fd, buf, sizeof(buf)));
	close(fd);
	expect("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n");
	expect("# TYPE adept_chunks_total counter\n");
	expect("# TYPE adept_build_info gauge\n");
	assert_null(strstr(buf, "# UNIT"));
	assert_null(strstr(buf, "# EOF"));
	fd = client_connect(server.metrics_path);
	send_bytes(fd, both, sizeof(both) - 1);
	body_of(read_rest(fd, buf, sizeof(buf)));
	close(fd);
	expect("# EOF\n");
}

static void test_many(void **state)
{
	int fd[4 * READERS], i, served = 0;

	(void)state;
	/* All are silent; those beyond the limit get no response. */
	for (i = 0; i < 4 * READERS; i++)
		fd[i] = client_connect(server.metrics_path);
	for (i = 0; i < 4 * READERS; i++) {
		served += read_rest(fd[i], buf, sizeof(buf)) > 0;
		close(fd[i]);
	}
	assert_in_range(served, READERS, 4 * READERS);
	/* Clients that disconnect without a request. */
	for (i = 0; i < 100; i++)
		close(client_connect(server.metrics_path));
	expect_bare(client_connect(server.metrics_path));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_text), TEST(test_bare), TEST(test_http), TEST(test_classic),
		TEST(test_many),
	};

	return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
