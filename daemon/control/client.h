/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control socket's insides: one client (client.c), what it asks for (dispatch.c), and
 * all of them (control.c).
 */
#ifndef DEPD_CONTROL_CLIENT_H
#define DEPD_CONTROL_CLIENT_H

#include "control.h"
#include "daemon/base/strbuf.h"

#define CLIENT_FDS_MAX	2	/* in one answer */
#define CLIENT_OUT_HIGH	(64u << 10)	/* with so much unread no request is looked at */

/** struct client_fds - descriptors that go with a byte of the output */
struct client_fds {
	struct client_fds *next;
	uint64_t at;		/* which byte, since the beginning */
	int n;
	int fd[CLIENT_FDS_MAX];
};

/** struct client_watch - a session whose events it gets */
struct client_watch {
	uint32_t id;
	bool warned_error;
};

/** struct client - one connection */
struct client {
	struct loop_watch watch;
	struct control *control;
	struct client *next;
	struct peer peer;
	int fd;
	bool dead;		/* to be freed by the reaper */
	bool eof;		/* it sends nothing any more */
	bool closing;		/* goes when the output is out, and is not listened to */
	/* Input: a part of a line, or lines that are not served yet */
	char *in;
	size_t in_at, in_len;	/* served up to the former */
	size_t in_seen;		/* from in_at up to here there is no newline */
	bool more;		/* lines are left for the next turn */
	uint64_t in_ns;		/* when something came last */
	/* Output: from out_at on */
	struct strbuf out;
	size_t out_at;
	uint64_t out_base;	/* bytes since the beginning before @out */
	uint64_t out_ns;	/* when something went last, or began to wait */
	struct client_fds *fds, **fds_tail;
	struct client_watch *watched;
	uint32_t nwatched;
	uint32_t *made;		/* sessions by RECORD, until they have ended */
	uint32_t nmade;
};

struct control {
	struct loop *loop;
	struct control_ops ops;
	struct loop_watch listen;
	struct loop_timer idle_check, reap;
	struct client *clients;
	unsigned int nclients;
	bool accept_paused;		/* no descriptors: new clients wait for the next sweep */
	uint64_t idle_ns;
	uint64_t requests, refused;
};

/* ---- client.c ---- */

/** client_new() - of a connected socket, which it takes over if it can; NULL: no memory */
struct client *client_new(struct control *c, int fd, const struct peer *peer);
/** client_free() - tells what it made that it is gone */
void client_free(struct client *cl);
/** client_drop() - close it now, free it when nothing uses it any more */
void client_drop(struct client *cl);
/** client_send() - put a line into its output and send what goes */
void client_send(struct client *cl, struct strbuf *line);
/** client_send_fds() - with duplicates of these descriptors on its first byte */
int client_send_fds(struct client *cl, struct strbuf *line, const int *fds, int n);
/** client_idle() - look for what takes too long */
void client_idle(struct client *cl, uint64_t now);

/* ---- dispatch.c ---- */

/** client_handle_line() - a request: answer it */
void client_handle_line(struct client *cl, const char *line, size_t size);
/** client_refuse() - an answer that says no */
void client_refuse(struct client *cl, int err, const char *why);
/** handle_event() - tell @cl, if it watches @id */
void handle_event(struct client *cl, uint32_t id);

#endif
