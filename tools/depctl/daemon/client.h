/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * depctl's side of depd's control socket; depd(8) has the protocol.
 *
 * Functions return 0 or a negative errno, and then write an error message to client.why.
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

#define CLIENT_TIMEOUT_MS	5000	/* limit of the wait for an answer */
#define CLIENT_LINE_MAX		(8u << 20)
#define CLIENT_FDS_MAX		2

/** struct client - a connection to depd; begin with { .fd = -1 } */
struct client {
	int fd;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char why[1024];
	char *line;		/* the last answer or event as it was received, without newline */
	cJSON *answer;		/* answer to the last client_ask() or client_post() */
	cJSON *event;		/* event of the last client_event() */
	/* descriptors that came with the answer; to take them over, set @nfds to 0 */
	int fds[CLIENT_FDS_MAX];
	int nfds;
	unsigned int posted;	/* requests of client_post() that are not answered yet */
	/* private */
	char *in;
	size_t in_len, in_room;
	struct client_event *events, **events_tail;
};

/**
 * client_open() - connect to depd
 * @socket: path of its socket; NULL: $ADEPT_SOCKET, otherwise the depd of $ADEPT_RUNDIR,
 *	otherwise the user's own depd, otherwise the system's
 *
 * Return: 0; -ENOENT: no depd runs; -EACCES: this user may not use it; or another negative errno.
 */
int client_open(struct client *c, const char *socket);
/**
 * client_ask() - send a request and wait for its answer
 * @request: has all fields except v; deleted
 *
 * Return: 0, with c->answer; the error that depd answered, by its name; -ETIMEDOUT;
 * -EPROTONOSUPPORT: another protocol version; -EPROTO: the other side is not depd.
 */
int client_ask(struct client *c, cJSON *request);
/** client_ask_begin(), client_ask_end() - halves of client_ask(), to ask several depds at once */
int client_ask_begin(struct client *c, cJSON *request, uint64_t until);
int client_ask_end(struct client *c, uint64_t until);
/**
 * client_post() - send a request, which is deleted, and do not wait for its answer
 *
 * client_event() returns the answer.  A client_ask() before that drops it.
 */
int client_post(struct client *c, cJSON *request);
enum { CLIENT_NOTHING, CLIENT_EVENT, CLIENT_ANSWER };
/**
 * client_event() - wait for an event, or for the answer to client_post()
 *
 * Return: CLIENT_EVENT, with c->event; CLIENT_ANSWER, with c->answer; CLIENT_NOTHING: neither
 * within @timeout_ms; the error that depd answered, by its name; -EPIPE: depd is gone.
 */
int client_event(struct client *c, int timeout_ms);
void client_close(struct client *c);

/** client_request() - make a request with field op, and field session unless @session is 0 */
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
 * client_find() - find a socket of depd and connect to it
 * @socket: path of the socket; NULL: search for it
 * @name: its name in depd's directory
 * @is_control: $ADEPT_SOCKET is the path of this socket; otherwise of one in the same directory
 */
int client_find(struct client *c, const char *socket, const char *name, bool is_control);
/** client_wait() - wait for @events until @until.  Return: 0, -ETIMEDOUT or another error */
int client_wait(struct client *c, short events, uint64_t until);
int client_send_all(struct client *c, const char *data, size_t size, uint64_t until);
/** client_receive() - append to @c->in.  Return: number of bytes; 0 at the end of the stream */
ssize_t client_receive(struct client *c);
/** client_read_line() - read @c->line; -EPIPE: end of the stream; -EPROTO: too long */
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

/** ask_depd() - client_open() unless it is open, then client_ask(); prints errors */
int ask_depd(struct client *c, const struct client_args *a, cJSON *request);

/* ---- client_cmd.c ---- */

/** client_options, client_parse() - parse --json and --socket into a struct client_args */
extern const struct argp_option client_options[];
int client_parse(int key, char *arg, struct argp_state *state);
/** client_show_fn - print @c->answer as text; 0 or EXIT_FAILURE */
typedef int client_show_fn(struct client *c, const struct client_args *a, struct out *o);
/** client_command() - run a command that sends the request @op and prints the answer */
int client_command(int argc, char **argv, const struct argp *argp, const char *op,
		   client_show_fn *show);
/** client_command_of() - client_command(); @op is called after the options are parsed */
int client_command_of(int argc, char **argv, const struct argp *argp, const char *(*op)(void),
		      client_show_fn *show);

/* ---- session_list.c ---- */

#define LOSS_TEXT	400

/** put_sessions() - print a table of @sessions, an array from depd; 0 or EXIT_FAILURE */
int put_sessions(struct out *o, const cJSON *sessions);
/** loss_text() - describe the losses, or write "none"; @text has LOSS_TEXT bytes */
void loss_text(const cJSON *loss, char *text, size_t size);

#endif
