/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server that test_control talks to, and what its parts have in common. */
#ifndef TESTS_UNIT_DAEMON_TEST_CONTROL_H
#define TESTS_UNIT_DAEMON_TEST_CONTROL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
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

#define STATUS		"{\"v\":1,\"op\":\"status\"}"
#define SESSIONS	"{\"v\":1,\"op\":\"sessions\"}"
#define RECORD_ARGV(a)	"{\"v\":1,\"op\":\"record\",\"argv\":[\"" a "\"],\"cwd\":\"/\"," \
			"\"store\":\"/s\"}"
#define RECORD		RECORD_ARGV("ls")
#define WATCH(id)	"{\"v\":1,\"op\":\"watch\",\"session\":" #id "}"
#define STOP(id)	"{\"v\":1,\"op\":\"stop\",\"session\":" #id "}"
#define OK		"{\"v\":1,\"ok\":true}"

extern struct fake_server server;

void session_of(uid_t uid);
void change(uint32_t id, enum session_state state, enum dep_close_cause cause, const char *error);
void idle_ms(unsigned int ms);
/** wait_clients() - until there are @n */
void wait_clients(unsigned int n);
void expect(const char *answer, const char *what);

/* ---- test_control_sessions.c ---- */

void test_record(void **state);
void test_follow(void **state);
void test_open(void **state);
void test_record_fails(void **state);
void test_gone(void **state);
void test_events(void **state);
void test_other_user(void **state);
void test_limits(void **state);
void test_no_descriptors(void **state);

#endif
