/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control socket: clients, requests, responses.
 *
 * A client is identified by SO_PEERCRED.  All input is untrusted.  A client that sends an overlong
 * line or no valid request, or that does not read its responses, is dropped.  No client can delay
 * the loop.
 */
#ifndef DEPD_CONTROL_CONTROL_H
#define DEPD_CONTROL_CONTROL_H

#include <sys/types.h>

#include "daemon/base/account.h"
#include "daemon/base/status.h"
#include "daemon/base/loop.h"
#include "request.h"

/* Limits of connections: of all users; part of them reserved for root; of any other user */
#define CONTROL_CLIENTS_MAX	256
#define CONTROL_ROOT_CLIENTS	16
#define CONTROL_USER_CLIENTS_MAX ACCOUNT_CLIENTS_MAX
#define CONTROL_SESSIONS_MAX	1024	/* limit of sessions that a client watches, or creates */
#define CONTROL_OUT_MAX		(4u << 20)	/* limit of a client's unread responses, in bytes */
#define CONTROL_IDLE_NS		30000000000ull	/* timeout: incomplete line, unread response */

struct control;
struct client;

#define PEER_GROUPS_MAX 64
/** struct peer - credentials of a client */
struct peer {
	uid_t uid;
	gid_t gid;
	pid_t pid;
	int pidfd;		/* owned by struct client; -1: not supported by the kernel */
	gid_t groups[PEER_GROUPS_MAX];	/* supplementary groups; none if they do not fit */
	int ngroups;
};

/**
 * struct control_ops - operations of depd's core for the control socket
 *
 * Operations with a parameter @why return 0, or a negative errno and an error message in @why
 * (CONTROL_WHY bytes).  They check the permissions of @peer and return -EPERM, or -ENOENT for
 * another user's session.
 */
#define CONTROL_WHY	512
struct control_ops {
	void (*info)(void *arg, struct depd_info *out);
	/** @session: get open session number @n, counted from 0.  Return: false: there are fewer */
	bool (*session)(void *arg, size_t n, struct session_info *out);
	/** @account: get account number @n, from 0; false: there are fewer.  Can be NULL. */
	bool (*account)(void *arg, size_t n, struct account_info *out);
	/** @find: get a session by its id; also one that ended less than a minute ago */
	bool (*find)(void *arg, uint32_t id, struct session_info *out);
	/** @record: create a session; @fds receives up to 2 descriptors for the client: session
	 * file, module ring.  The session owns them: duplicate them before the next operation. */
	int (*record)(void *arg, const struct peer *peer, const struct request *r, uint32_t *id,
		      int fds[2], int *nfds, char *why);
	/** @follow: *fd receives the session file, opened read-only; the caller closes it */
	int (*follow)(void *arg, const struct peer *peer, const struct request *r, int *fd,
		      char *why);
	/** @open: find the session by its id or by a process; *fd receives a duplicate of the
	 * session file's descriptor, which the caller closes */
	int (*open)(void *arg, const struct peer *peer, const struct request *r, uint32_t *id,
		    int *fd, char *why);
	/** @snapshot: begin a snapshot of the session, found as by @open; *fd receives a socket for
	 * its result, which the caller closes, *store the path of its store */
	int (*snapshot)(void *arg, const struct peer *peer, const struct request *r, int *fd,
			const char **store, char *why);
	/** @trigger: ask for a snapshot because of an event that the client has counted */
	int (*trigger)(void *arg, const struct peer *peer, const struct request *r, char *why);
	int (*launched)(void *arg, const struct peer *peer, const struct request *r, char *why);
	int (*ended)(void *arg, const struct peer *peer, const struct request *r, char *why);
	int (*stop)(void *arg, const struct peer *peer, const struct request *r, char *why);
	/** @reload: read depd.conf again; only called for root and the user that depd runs as */
	int (*reload)(void *arg, const struct peer *peer, char *why);
	/** @policy_text: make a JSON array of the rules (policy_describe()); the caller frees it */
	char *(*policy_text)(void *arg);
	/** @gone: the client that created session @id by RECORD has disconnected before the end of
	 * the session; also called by control_close() */
	void (*gone)(void *arg, uint32_t id);
	void *arg;
};

/**
 * control_open() - serve the clients that connect to a listening socket
 * @fd: AF_UNIX socket of type SOCK_STREAM; control_close() closes it
 * @ops: operations that handle requests; copied
 */
int control_open(struct control **c, struct loop *l, int fd, const struct control_ops *ops);
void control_close(struct control *c);
/** control_add() - serve the client of the connected socket @fd; takes ownership of @fd */
void control_add(struct control *c, int fd);
/**
 * control_session_changed() - send events about session @id to the clients that watch it
 *
 * Call it after a session's state or error has changed, while ops->find() still finds the session.
 * Operations of struct control_ops may call it.
 */
void control_session_changed(struct control *c, uint32_t id);
/** control_set_idle() - set a timeout other than CONTROL_IDLE_NS */
void control_set_idle(struct control *c, uint64_t ns);
unsigned int control_clients(const struct control *c);
/** control_requests() - get the number of requests, and of refused requests and connections */
void control_requests(const struct control *c, uint64_t *all, uint64_t *refused);

struct metrics;
/**
 * metrics_open() - serve metrics as OpenMetrics text
 * @fd: listening socket; metrics_close() closes it
 * @ops: operations that get the values; copied
 *
 * A client that sends an HTTP GET gets an HTTP response, in Prometheus' older text format if its
 * Accept field asks for text/plain and not for OpenMetrics.  A client that sends anything else, or
 * nothing for 100 ms, gets the text without HTTP headers.
 */
int metrics_open(struct metrics **m, struct loop *l, int fd, const struct control_ops *ops);
void metrics_close(struct metrics *m);
/** metrics_text() - make the OpenMetrics text, which the caller frees; NULL: out of memory */
char *metrics_text(const struct control_ops *ops);

#endif
