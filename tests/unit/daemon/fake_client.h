/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Both ends of depd's sockets in one process: a server in a thread, and blocking clients. */
#ifndef TESTS_UNIT_DAEMON_FAKE_CLIENT_H
#define TESTS_UNIT_DAEMON_FAKE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "fake_core.h"

/** struct fake_server - a loop in a thread, with a control and a metrics socket */
struct fake_server {
	struct loop *loop;
	struct control *control;
	struct metrics *metrics;
	struct fake_core core;
	char path[128], metrics_path[128];
};

void server_start(struct fake_server *s);
/** server_stop() - end the thread; the core remains for checks */
void server_stop(struct fake_server *s);
/** server_call() - call @call in the loop's thread */
void server_call(struct fake_server *s, void (*call)(struct fake_server *s, void *arg), void *arg);

/** client_connect() - connect a socket whose reads time out after 10 s */
int client_connect(const char *path);
/** connect_to() - connect the socket @fd */
void connect_to(int fd, const char *path);
void send_bytes(int fd, const char *data, size_t size);
void send_line(int fd, const char *line);
/**
 * read_line() - without its newline, byte by byte, into a buffer of its own
 * @fds: receives up to 2 descriptors, or -1 each; may be NULL
 *
 * Return: NULL at the end of the stream, or after 10 s.
 */
const char *read_line(int fd, int fds[2]);
/** read_rest() - read up to the end of the stream; returns the number of bytes */
size_t read_rest(int fd, char *buf, size_t room);
/** ask() - send_line() and read_line() */
const char *ask(int fd, const char *line);

#endif
