/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Client of depd's control socket; depd(8) specifies the protocol.
 *
 * Functions return 0, or a negative errno after writing an error message to client.why.
 */
#ifndef DEPCTL_DAEMON_CLIENT_H
#define DEPCTL_DAEMON_CLIENT_H

#include <argp.h>
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include "tools/depctl/common/output.h"

#define CLIENT_TIMEOUT_MS	5000	/* maximum wait for an answer */
#define CLIENT_LINE_MAX		(8u << 20)
#define CLIENT_FDS_MAX		2

/** struct client - a connection to depd; initialise with { .fd = -1 } */
struct client {
	int fd;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char why[1024];
	char *line;		/* the last answer or event as it was received, without newline */
	cJSON *answer;		/* answer to the last client_ask() or client_post() */
	cJSON *event;		/* event of the last client_event() */
	/* descriptors that came with the answer; a caller that keeps them sets @nfds to 0 */
	int fds[CLIENT_FDS_MAX];
	int nfds;
	unsigned int posted;	/* number of client_post() requests not answered yet */
	/* used by client.c and client_socket.c only: */
	char *in;
	size_t in_len, in_room;
	struct client_event *events, **events_tail;
};

/**
 * client_open() - connect to depd
 * @socket: path of depd's socket; NULL: the first one that is set or exists of $ADEPT_SOCKET, the
 *	socket in $ADEPT_RUNDIR, that of the user's own depd, and that of the system's depd
 *
 * Return: 0; -ENOENT: no depd runs; -EACCES: the user may not use this depd; or another negative
 * errno.
 */
int client_open(struct client *c, const char *socket);
/**
 * client_ask() - send a request and wait for its answer
 * @request: has all fields except v; is freed
 *
 * Return: 0, and c->answer is set; the negative errno whose name is in depd's answer; -ETIMEDOUT;
 * -EPROTONOSUPPORT: depd uses another protocol version; -EPROTO: the process at the other end of
 * the socket is not depd.
 */
int client_ask(struct client *c, cJSON *request);
/** client_ask_begin(), client_ask_end() - client_ask() in two parts, to ask several depds */
int client_ask_begin(struct client *c, cJSON *request, uint64_t until);
int client_ask_end(struct client *c, uint64_t until);
/**
 * client_post() - send @request and free it, without waiting for the answer
 *
 * A later client_event() returns the answer, unless client_ask() is called first and drops it.
 */
int client_post(struct client *c, cJSON *request);
enum { CLIENT_NOTHING, CLIENT_EVENT, CLIENT_ANSWER };
/**
 * client_event() - wait for an event, or for the answer to client_post()
 *
 * Return: CLIENT_EVENT, and c->event is set; CLIENT_ANSWER, and c->answer is set; CLIENT_NOTHING
 * after @timeout_ms; the negative errno whose name is in depd's answer; -EPIPE: depd has closed
 * the connection.
 */
int client_event(struct client *c, int timeout_ms);
void client_close(struct client *c);

/** client_request() - create a request with field "op", and "session" unless @session is 0 */
cJSON *client_request(const char *op, uint32_t session);

/** client_number(), client_string() - get a member of @o; 0 or "" if it has another type */
double client_number(const cJSON *o, const char *name);
const char *client_string(const cJSON *o, const char *name);

/* ---- client_socket.c: used by client.c and depctl metrics ---- */

/** client_fail() - write an error message to @c->why; returns @err */
int client_fail(struct client *c, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
uint64_t client_now_ms(void);
/**
 * client_find() - find one of depd's sockets and connect to it
 * @socket: path of the socket; NULL: search for it
 * @name: name of the socket's file in depd's directory
 * @is_control: the wanted socket is the control socket, so $ADEPT_SOCKET is its path; otherwise the
 *	wanted socket is in the same directory as $ADEPT_SOCKET
 */
int client_find(struct client *c, const char *socket, const char *name, bool is_control);
/** client_wait() - poll() for @events until time @until; 0, -ETIMEDOUT or another negative errno */
int client_wait(struct client *c, short events, uint64_t until);
int client_send_all(struct client *c, const char *data, size_t size, uint64_t until);
/** client_receive() - append to @c->in.  Return: number of bytes; 0 at the end of the stream */
ssize_t client_receive(struct client *c);
/** client_read_line() - read a line into @c->line; -EPIPE: end of stream; -EPROTO: too long */
int client_read_line(struct client *c, uint64_t until);
void client_drop_fds(struct client *c);

/* ---- commands ---- */

/** struct client_args - options of commands that use depd */
struct client_args {
	const char *socket;
	bool json;
};

enum { OPT_SOCKET = 257 };
#define CLIENT_OPTION_SOCKET \
	{ "socket", OPT_SOCKET, "PATH", 0, "Socket of depd", 9 }

/** ask_depd() - connect to depd unless connected, then client_ask(); prints errors */
int ask_depd(struct client *c, const struct client_args *a, cJSON *request);

/* ---- client_cmd.c ---- */

/** client_options, client_parse() - parse --json and --socket into a struct client_args */
extern const struct argp_option client_options[];
int client_parse(int key, char *arg, struct argp_state *state);
/** client_show_fn - callback that prints @c->answer as text; returns 0 or EXIT_FAILURE */
typedef int client_show_fn(struct client *c, const struct client_args *a, struct out *o);
/** client_command() - run a command that sends the request @op and prints the answer */
int client_command(int argc, char **argv, const struct argp *argp, const char *op,
		   client_show_fn *show);
/** client_command_of() - client_command(), but @op() returns the request after option parsing */
int client_command_of(int argc, char **argv, const struct argp *argp, const char *(*op)(void),
		      client_show_fn *show);

/* ---- session_list.c ---- */

#define LOSS_TEXT	400

/** put_sessions() - print depd's array @sessions as a table; 0 or EXIT_FAILURE */
int put_sessions(struct out *o, const cJSON *sessions);
/** loss_text() - write the losses as text, or "none"; @text has LOSS_TEXT bytes */
void loss_text(const cJSON *loss, char *text, size_t size);

#endif
