/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internals of the control socket: one client (client.c), its requests (dispatch.c), and the list
 * of all clients (control.c).
 */
#ifndef DEPD_CONTROL_CLIENT_H
#define DEPD_CONTROL_CLIENT_H

#include "control.h"
#include "daemon/base/strbuf.h"

#define CLIENT_FDS_MAX	2	/* limit of descriptors in a response */
/* While a client has this many bytes of unsent output, its requests are not handled. */
#define CLIENT_OUT_HIGH	(64u << 10)

/** struct client_fds - descriptors that are sent with one byte of the output */
struct client_fds {
	struct client_fds *next;
	uint64_t at;		/* offset of the byte in all output of the connection */
	int n;
	int fd[CLIENT_FDS_MAX];
};

/** struct client_watch - a session whose events the client gets */
struct client_watch {
	uint32_t id;
	bool warned_error;
};

/** struct client - one connection to the control socket */
struct client {
	struct loop_watch watch;
	struct control *control;
	struct client *next;
	struct peer peer;
	int fd;
	bool dead;		/* connection closed; the timer control.reap frees the client */
	bool eof;		/* the client has closed its sending side */
	bool closing;		/* close when all output is sent; input is ignored */
	/* Input buffer: request lines that are not handled yet, and a part of a line */
	char *in;
	size_t in_at, in_len;	/* offsets in @in: end of the handled lines, end of the data */
	size_t in_seen;		/* there is no newline between in_at and this offset */
	bool more;		/* complete lines are left for the next pass of the loop */
	uint64_t in_ns;		/* time when input was last received */
	/* Output buffer: bytes from out_at on are not sent yet */
	struct strbuf out;
	size_t out_at;
	uint64_t out_base;	/* offset of the buffer in all output of the connection */
	uint64_t out_ns;	/* time when output was last sent or began to wait */
	struct client_fds *fds, **fds_tail;
	struct client_watch *watched;
	uint32_t nwatched;
	uint32_t *made;		/* ids of sessions created by this client that have not ended */
	uint32_t nmade;
};

struct control {
	struct loop *loop;
	struct control_ops ops;
	/* dispatch.c: handle one request line and send the response */
	void (*handle_line)(struct client *cl, const char *line, size_t size);
	struct loop_watch listen;
	struct loop_timer idle_check, reap;
	struct client *clients;
	unsigned int nclients;
	bool accept_paused;	/* accept() failed (no descriptors); the next idle check resumes */
	uint64_t idle_ns;
	uint64_t requests, refused;
};

/* ---- one client: client.c ---- */

/** client_new() - create a client, which owns the connected socket @fd; NULL: error */
struct client *client_new(struct control *c, int fd, const struct peer *peer);
/** client_free() - free a client; calls ops.gone() for each of its sessions that has not ended */
void client_free(struct client *cl);
/** client_drop() - close the connection now; the memory is freed later, by a timer */
void client_drop(struct client *cl);
/** client_send() - append @line to the output and send as much as possible; empties @line */
void client_send(struct client *cl, struct strbuf *line);
/** client_send_fds() - as client_send(); sends duplicates of @fds with the line's first byte */
int client_send_fds(struct client *cl, struct strbuf *line, const int *fds, int n);
/** client_refuse() - send an error response */
void client_refuse(struct client *cl, int err, const char *why);
/** client_idle() - drop a client that does not read or does not complete a line in time */
void client_idle(struct client *cl, uint64_t now);

/* ---- requests of a client: dispatch.c ---- */

/** client_handle_line() - handle one request line and send the response */
void client_handle_line(struct client *cl, const char *line, size_t size);
/** handle_event() - send an event about session @id if @cl watches it */
void handle_event(struct client *cl, uint32_t id);

#endif
