// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl's side of the control socket, against the real server with a fake core. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/depctl/daemon/client.h"
#include "fake_client.h"

static struct fake_server server;
static struct client c;

static int setup(void **state)
{
	(void)state;
	server_start(&server);
	assert_int_equal(client_open(&c, server.path), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	client_close(&c);
	server_stop(&server);
	return 0;
}

static cJSON *record_request(const char *command)
{
	cJSON *o = client_request("record", 0);

	cJSON_AddItemToArray(cJSON_AddArrayToObject(o, "argv"), cJSON_CreateString(command));
	cJSON_AddStringToObject(o, "cwd", "/");
	cJSON_AddStringToObject(o, "store", "/tmp/\xff.dep");
	return o;
}

static void test_ask(void **state)
{
	(void)state;
	assert_int_equal(client_ask(&c, client_request("status", 0)), 0);
	assert_non_null(cJSON_GetObjectItem(c.answer, "depd"));
	assert_int_equal(client_ask(&c, client_request("stop", 9)), -ENOENT);
	assert_string_equal(c.why, "there is no session 9 of yours");
	assert_int_equal(client_ask(&c, client_request("dance", 0)), -EINVAL);
	assert_int_equal(client_ask(&c, client_request("reload", 0)), 0);
	assert_int_equal(client_ask(&c, NULL), -ENOMEM);
}

static void test_descriptors(void **state)
{
	char text[5] = "";

	(void)state;
	assert_int_equal(client_ask(&c, record_request("ls")), 0);
	assert_int_equal(c.nfds, 2);
	assert_int_equal(pread(c.fds[0], text, 4, 0), 4);
	assert_string_equal(text, "file");
	assert_int_equal(pread(c.fds[1], text, 4, 0), 4);
	assert_string_equal(text, "ring");
	assert_true(fcntl(c.fds[0], F_GETFD) & FD_CLOEXEC);
	assert_string_equal(server.core.last_store, "/tmp/\xff.dep");
	/* The next request closes descriptors that were not taken. */
	assert_int_equal(client_ask(&c, record_request("fail")), -ENOSPC);
	assert_int_equal(c.nfds, 0);
	assert_int_equal(client_ask(&c, record_request("ls")), 0);
	assert_int_equal(c.nfds, 2);
}

static void test_events(void **state)
{
	int fd = client_connect(server.path);

	(void)state;
	assert_int_equal(client_ask(&c, record_request("ls")), 0);
	assert_int_equal(client_ask(&c, client_request("watch", 1)), 0);
	assert_int_equal(client_event(&c, 0), 0);
	assert_int_equal(client_event(&c, 50), 0);
	send_line(fd, "{\"v\":1,\"op\":\"launched\",\"session\":1,\"pid\":5}");
	assert_int_equal(client_event(&c, 5000), 1);
	assert_string_equal(client_string(c.event, "event"), "state");
	/* An event before the response is kept. */
	assert_int_equal(client_ask(&c, client_request("stop", 1)), 0);
	assert_int_equal(client_ask(&c, client_request("status", 0)), 0);
	assert_int_equal(client_event(&c, 0), 1);
	assert_string_equal(client_string(c.event, "event"), "ended");
	assert_int_equal(client_event(&c, 0), 0);
	/* An event that is never fetched is no leak. */
	assert_int_equal(client_ask(&c, client_request("watch", 1)), 0);
	assert_int_equal(client_ask(&c, client_request("status", 0)), 0);
	close(fd);
}

/* Responses that are not awaited, between events and other responses. */
static void test_post(void **state)
{
	(void)state;
	assert_int_equal(client_ask(&c, record_request("ls")), 0);
	assert_int_equal(client_post(&c, client_request("watch", 1)), 0);
	assert_int_equal(c.posted, 1);
	assert_int_equal(client_event(&c, 5000), CLIENT_ANSWER);
	assert_int_equal(c.posted, 0);
	assert_non_null(cJSON_GetObjectItem(c.answer, "session"));
	assert_int_equal(client_event(&c, 50), CLIENT_NOTHING);
	assert_int_equal(client_post(&c, client_request("watch", 9)), 0);
	assert_int_equal(client_event(&c, 5000), -ENOENT);
	assert_int_equal(client_event(&c, 50), CLIENT_NOTHING);
	/* The response to a later request is not mistaken for that of an earlier one. */
	assert_int_equal(client_post(&c, client_request("watch", 9)), 0);
	assert_int_equal(client_post(&c, client_request("watch", 1)), 0);
	assert_int_equal(client_ask(&c, client_request("status", 0)), 0);
	assert_non_null(cJSON_GetObjectItem(c.answer, "depd"));
	assert_int_equal(c.posted, 0);
	/* An event before the response. */
	assert_int_equal(client_ask(&c, client_request("stop", 1)), 0);
	assert_int_equal(client_post(&c, client_request("status", 0)), 0);
	assert_int_equal(client_event(&c, 5000), CLIENT_EVENT);
	assert_string_equal(client_string(c.event, "event"), "ended");
	assert_int_equal(client_event(&c, 5000), CLIENT_ANSWER);
	assert_non_null(cJSON_GetObjectItem(c.answer, "depd"));
	assert_int_equal(client_post(&c, NULL), -ENOMEM);
	assert_int_equal(c.posted, 0);
}

static void test_turned_away(void **state)
{
	int fd[CONTROL_CLIENTS_MAX], i;
	struct client more;

	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(client_ask(&c, client_request("status", 0)), 0);
	for (i = 0; i < CONTROL_CLIENTS_MAX - 1; i++)
		fd[i] = client_connect(server.path);
	assert_non_null(ask(fd[i - 1], "{\"v\":1,\"op\":\"status\"}"));
	assert_int_equal(client_open(&more, server.path), 0);
	/* The server may have closed the connection before the request. */
	usleep(20000);
	assert_int_equal(client_ask(&more, client_request("status", 0)), -EUSERS);
	assert_non_null(strstr(more.why, "too many clients"));
	client_close(&more);
	for (i = 0; i < CONTROL_CLIENTS_MAX - 1; i++)
		close(fd[i]);
}

static void cut_off(struct fake_server *s, void *arg)
{
	(void)arg;
	control_close(s->control);
	s->core.control = NULL;
	s->control = NULL;
}

static void test_cut_off(void **state)
{
	int i;

	(void)state;
	assert_int_equal(client_ask(&c, client_request("status", 0)), 0);
	server_call(&server, cut_off, NULL);
	assert_int_equal(client_ask(&c, client_request("status", 0)), -EPIPE);
	assert_non_null(strstr(c.why, "has closed the connection"));
	assert_int_equal(client_event(&c, 100), -EPIPE);
	client_close(&c);
	/* The loop holds the socket until it goes on. */
	for (i = 0; i < 500 && !client_open(&c, server.path); i++) {
		client_close(&c);
		usleep(10000);
	}
	assert_int_equal(client_open(&c, server.path), -ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_ask), TEST(test_descriptors), TEST(test_events), TEST(test_post),
		TEST(test_turned_away), TEST(test_cut_off),
	};

	return cmocka_run_group_tests_name("client", tests, NULL, NULL);
}
