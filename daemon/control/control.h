/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control socket: clients, lines, answers.
 *
 * A client is who connected, by SO_PEERCRED.  One that sends too much, sends nonsense
 * or does not read its answers is told so and dropped; none can hold up the loop.
 */
#ifndef DEPD_CONTROL_CONTROL_H
#define DEPD_CONTROL_CONTROL_H

#include <sys/types.h>

#include "daemon/base/account.h"
#include "daemon/base/status.h"
#include "daemon/base/loop.h"
#include "request.h"

#define CONTROL_CLIENTS_MAX	256
#define CONTROL_ROOT_CLIENTS	16	/* of these are only for root */
#define CONTROL_USER_CLIENTS_MAX ACCOUNT_CLIENTS_MAX /* of one user that is not root */
#define CONTROL_SESSIONS_MAX	1024	/* that one client watches, or has made */
#define CONTROL_OUT_MAX		(4u << 20)	/* bytes of answers that a client has not read */
#define CONTROL_IDLE_NS		30000000000ull	/* amid a line, or without reading */

struct control;
struct client;

#define PEER_GROUPS_MAX 64
/** struct peer - whose request it is */
struct peer {
	uid_t uid;
	gid_t gid;
	pid_t pid;
	int pidfd;		/* of it, owned by the client; -1: the kernel is too old */
	gid_t groups[PEER_GROUPS_MAX];	/* others that it is in: the first ones */
	int ngroups;
};

/**
 * struct control_ops - what depd's core does for the socket
 *
 * All return 0 or a negative errno with a sentence in @why (of CONTROL_WHY bytes), and
 * check that @peer may do it: -EPERM, or -ENOENT for other users' sessions.
 */
#define CONTROL_WHY	512
struct control_ops {
	void (*info)(void *arg, struct depd_info *out);
	/** @session: the @n-th that there is; false: there are no more */
	bool (*session)(void *arg, size_t n, struct session_info *out);
	/** @account: the @n-th person's, may be NULL; false: there are no more */
	bool (*account)(void *arg, size_t n, struct account_info *out);
	/** @find: one by its number, ended ones while somebody watches them */
	bool (*find)(void *arg, uint32_t id, struct session_info *out);
	/** @record: @fds receives up to 2 descriptors to be sent: session file, ring; borrowed,
	 * and duplicated before anything else is called */
	int (*record)(void *arg, const struct peer *peer, const struct request *r, uint32_t *id,
		      int fds[2], int *nfds, char *why);
	/** @follow: *fd receives the session file, to be read only; it is the caller's */
	int (*follow)(void *arg, const struct peer *peer, const struct request *r, int *fd,
		      char *why);
	int (*launched)(void *arg, const struct peer *peer, const struct request *r, char *why);
	int (*ended)(void *arg, const struct peer *peer, const struct request *r, char *why);
	int (*stop)(void *arg, const struct peer *peer, const struct request *r, char *why);
	/** @reload: only called for root and for whom depd runs as */
	int (*reload)(void *arg, const struct peer *peer, char *why);
	/** @policy_text: JSON array of the rules, as policy_describe() makes it; malloc()ed */
	char *(*policy_text)(void *arg);
	/** @gone: the client that made session @id by RECORD, not ended yet, has disconnected;
	 * also called by control_close() */
	void (*gone)(void *arg, uint32_t id);
	void *arg;
};

/**
 * control_open() - serve on @fd, a listening SOCK_STREAM socket of AF_UNIX (taken over)
 * @ops: copied
 */
int control_open(struct control **c, struct loop *l, int fd, const struct control_ops *ops);
void control_close(struct control *c);
/** control_add() - serve a connected socket, too; takes it over */
void control_add(struct control *c, int fd);
/**
 * control_session_changed() - tell who watches @id: state, error, or that it has ended
 *
 * To be called while control_ops' find() knows it.  May be called within control_ops.
 */
void control_session_changed(struct control *c, uint32_t id);
/** control_set_idle() - instead of CONTROL_IDLE_NS */
void control_set_idle(struct control *c, uint64_t ns);
unsigned int control_clients(const struct control *c);
/** control_requests() - how many were served, and refused */
void control_requests(const struct control *c, uint64_t *all, uint64_t *refused);

struct metrics;
/**
 * metrics_open() - serve OpenMetrics text on @fd, a listening socket like the above
 *
 * A connection that sends an HTTP GET gets an HTTP answer, in Prometheus' older text format
 * if its Accept asks for text/plain and not for OpenMetrics.  Any other one, also if it says
 * nothing for 100 ms, gets the bare text.
 */
int metrics_open(struct metrics **m, struct loop *l, int fd, const struct control_ops *ops);
void metrics_close(struct metrics *m);
/** metrics_text() - the text, malloc()ed; NULL without memory */
char *metrics_text(const struct control_ops *ops);

#endif
