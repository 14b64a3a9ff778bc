/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * depctl's side of depd's control socket; depd(8) has the protocol.
 *
 * Functions return 0 or a negative errno, with a sentence for people in the client's why.
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

#define CLIENT_TIMEOUT_MS	5000	/* for an answer */
#define CLIENT_LINE_MAX		(8u << 20)
#define CLIENT_FDS_MAX		2

/** struct client - a connection to depd; begin with { .fd = -1 } */
struct client {
	int fd;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char why[1024];
	char *line;		/* the last answer or event as it came, without a newline */
	cJSON *answer;		/* of the last client_ask(), or client_post() */
	cJSON *event;		/* of the last client_event() */
	int fds[CLIENT_FDS_MAX];	/* that came with the answer: nfds; yours if you take */
	int nfds;		/* ..them and set this to 0 */
	unsigned int posted;	/* by client_post(), and not answered yet */
	/* Inside */
	char *in;
	size_t in_len, in_room;
	struct client_event *events, **events_tail;
};

/**
 * client_open() - connect
 * @socket: NULL: $ADEPT_SOCKET, else the depd of $ADEPT_RUNDIR, else the user's own depd, else
 *	the system's
 *
 * -ENOENT: there is no depd.  -EACCES: there is, but not for this user.
 */
int client_open(struct client *c, const char *socket);
/**
 * client_ask() - send a request, wait for its answer
 * @request: with all fields but v; deleted
 *
 * Return: 0 and answer; an error that depd answered, by its name; -ETIMEDOUT;
 * -EPROTONOSUPPORT, -EPROTO: it is of another version, or no depd.
 */
int client_ask(struct client *c, cJSON *request);
/** client_ask_begin(), client_ask_end() - its two halves, for asking several at once */
int client_ask_begin(struct client *c, cJSON *request, uint64_t until);
int client_ask_end(struct client *c, uint64_t until);
/**
 * client_post() - send a request, which is deleted, and do not wait for its answer
 *
 * client_event() gives the answer, unless client_ask() comes before, which drops it.
 */
int client_post(struct client *c, cJSON *request);
enum { CLIENT_NOTHING, CLIENT_EVENT, CLIENT_ANSWER };
/**
 * client_event() - wait for an event, or for the answer to client_post()
 *
 * Return: CLIENT_EVENT and event; CLIENT_ANSWER and answer; CLIENT_NOTHING: neither within
 * @timeout_ms; an error that depd answered, by its name; -EPIPE: depd is gone.
 */
int client_event(struct client *c, int timeout_ms);
void client_close(struct client *c);

/** client_request() - an object with this op, and a number as session unless it is 0 */
cJSON *client_request(const char *op, uint32_t session);

/** client_number(), client_string() - a member of @o; 0 or "" if it is none */
double client_number(const cJSON *o, const char *name);
const char *client_string(const cJSON *o, const char *name);

/* ---- client_socket.c: what the above and depctl metrics use ---- */

/** client_fail() - write @c->why; returns @err */
int client_fail(struct client *c, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
uint64_t client_now_ms(void);
/**
 * client_find() - connect to the socket @name in depd's directory, or say why not
 * @socket: NULL, or the one that it must be
 * @is_control: $ADEPT_SOCKET names this one, else one in the same directory
 */
int client_find(struct client *c, const char *socket, const char *name, bool is_control);
/** client_wait() - until @until for @events: 0, -ETIMEDOUT or another error */
int client_wait(struct client *c, short events, uint64_t until);
int client_send_all(struct client *c, const char *data, size_t size, uint64_t until);
/** client_receive() - more into @c->in: how many bytes, 0 at the end of the stream */
ssize_t client_receive(struct client *c);
/** client_read_line() - into @c->line; -EPIPE at the end of the stream, -EPROTO: too long */
int client_read_line(struct client *c, uint64_t until);
void client_drop_fds(struct client *c);

/* ---- commands ---- */

/** struct client_args - options of the commands that ask depd */
struct client_args {
	const char *socket;
	bool json;
};

enum { OPT_SOCKET = 257 };
#define CLIENT_OPTION_SOCKET \
	{ "socket", OPT_SOCKET, "PATH", 0, "Where depd listens", 9 }

/** ask_depd() - client_open() unless it is, and client_ask(); says what went wrong */
int ask_depd(struct client *c, const struct client_args *a, cJSON *request);

/* ---- client_cmd.c ---- */

/** client_options, client_parse() - --json and --socket, into a struct client_args */
extern const struct argp_option client_options[];
int client_parse(int key, char *arg, struct argp_state *state);
/** client_show_fn - print @c->answer for people; 0 or EXIT_FAILURE */
typedef int client_show_fn(struct client *c, const struct client_args *a, struct out *o);
/** client_command() - a command that asks for @op, and prints what it hears */
int client_command(int argc, char **argv, const struct argp *argp, const char *op,
		   client_show_fn *show);
/** client_command_of() - the same; @op is called when the options have been read */
int client_command_of(int argc, char **argv, const struct argp *argp, const char *(*op)(void),
		      client_show_fn *show);

/* ---- session_list.c ---- */

#define LOSS_TEXT	400

/** put_sessions() - print a table of sessions, an array of depd's; 0 or EXIT_FAILURE */
int put_sessions(struct out *o, const cJSON *sessions);
/** loss_text() - what is lost, or "none"; @text has LOSS_TEXT bytes */
void loss_text(const cJSON *loss, char *text, size_t size);

#endif
