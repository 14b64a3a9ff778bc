// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The control socket: accept clients, limit their number, drop idle clients, send events.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "response.h"
#include "client.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD	77	/* since Linux 6.5 */
#endif

#define ACCEPT_ONCE	16
#define IDLE_CHECK_NS	1000000000ull

/* Run the idle timer while there are clients or accepting is paused. */
static void need_idle_timer(struct control *c)
{
	uint64_t every = c->idle_ns / 4 < IDLE_CHECK_NS ? c->idle_ns / 4 + 1 : IDLE_CHECK_NS;

	if (!c->idle_check.armed)
		loop_timer_set(c->loop, &c->idle_check, every, every);
}

/* True if no further client of @uid is allowed. */
static bool is_full(const struct control *c, uid_t uid)
{
	const struct client *cl;
	unsigned int n = 0;

	if (!uid)
		return c->nclients >= CONTROL_CLIENTS_MAX;
	for (cl = c->clients; cl; cl = cl->next)
		n += !cl->dead && cl->peer.uid == uid;
	return n >= CONTROL_USER_CLIENTS_MAX ||
	       c->nclients >= CONTROL_CLIENTS_MAX - CONTROL_ROOT_CLIENTS;
}

/* Send an error response and close the connection.  The response fits into the empty buffer. */
static void turn_away(struct control *c, int fd, int err, const char *why)
{
	struct strbuf t = { 0 };

	c->refused++;
	response_refusal(&t, err, why);
	strbuf_put(&t, "\n", 1);
	if (!t.failed)
		send(fd, t.s, t.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	free(strbuf_take(&t));
	close(fd);
}

static void admit(struct control *c, int fd)
{
	struct ucred who;
	socklen_t size = sizeof(who);
	struct peer peer;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size)) {
		close(fd);
		return;
	}
	peer = (struct peer){ .uid = who.uid, .gid = who.gid, .pid = who.pid, .pidfd = -1 };
	size = sizeof(peer.pidfd);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &peer.pidfd, &size))
		peer.pidfd = -1;
	size = sizeof(peer.groups);
	/* A peer with more than PEER_GROUPS_MAX groups is treated as having none. */
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, peer.groups, &size))
		peer.ngroups = size / sizeof(peer.groups[0]);
	if (is_full(c, peer.uid)) {
		turn_away(c, fd, -EUSERS, "depd has too many clients, or too many of this user");
	} else if (!client_new(c, fd, &peer)) {
		turn_away(c, fd, -ENOMEM, NULL);
	} else {
		need_idle_timer(c);
		return;
	}
	if (peer.pidfd >= 0)
		close(peer.pidfd);
}

static void control_ready(struct loop_watch *w, short revents)
{
	struct control *c = (struct control *)((char *)w - offsetof(struct control, listen));
	int i, fd;

	(void)revents;
	for (i = 0; i < ACCEPT_ONCE; i++) {
		fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0) {
			admit(c, fd);
			continue;
		}
		if (errno == ECONNABORTED || errno == EINTR)
			continue;
		if (errno != EAGAIN) {
			c->accept_paused = true;
			need_idle_timer(c);
			loop_watch_change(c->loop, w, 0);
		}
		return;
	}
}

/* ---- timers ---- */

static void close_idle_clients(struct loop_timer *t)
{
	struct control *c = (struct control *)((char *)t - offsetof(struct control, idle_check));
	uint64_t now = loop_now();
	struct client *cl;

	for (cl = c->clients; cl; cl = cl->next)
		client_idle(cl, now);
	if (c->accept_paused) {
		c->accept_paused = false;
		loop_watch_change(c->loop, &c->listen, POLLIN);
	}
	if (!c->clients)
		loop_timer_cancel(c->loop, t);
}

/* Remove a dead client from the list and return it; NULL: none is left. */
static struct client *next_dead(struct control *c)
{
	struct client **p, *cl;

	for (p = &c->clients; (cl = *p); p = &cl->next) {
		if (cl->dead) {
			*p = cl->next;
			return cl;
		}
	}
	return NULL;
}

static void control_reap(struct loop_timer *t)
{
	struct control *c = (struct control *)((char *)t - offsetof(struct control, reap));
	struct client *cl;

	while ((cl = next_dead(c)))
		client_free(cl);
}

/* ---- public functions ---- */

int control_open(struct control **out, struct loop *l, int fd, const struct control_ops *ops)
{
	struct control *c = calloc(1, sizeof(*c));
	int ret;

	if (!c)
		return -ENOMEM;
	c->loop = l;
	c->ops = *ops;
	c->handle_line = client_handle_line;
	c->idle_ns = CONTROL_IDLE_NS;
	c->listen.ready = control_ready;
	c->idle_check.due = close_idle_clients;
	c->reap.due = control_reap;
	ret = loop_watch_add(l, &c->listen, fd, POLLIN);
	if (ret) {
		free(c);
		return ret;
	}
	*out = c;
	return 0;
}

void control_close(struct control *c)
{
	struct client *cl;

	if (!c)
		return;
	loop_remove(c->loop, &c->listen);
	close(c->listen.fd);
	for (cl = c->clients; cl; cl = cl->next)
		client_drop(cl);
	control_reap(&c->reap);
	loop_timer_cancel(c->loop, &c->reap);
	loop_timer_cancel(c->loop, &c->idle_check);
	free(c);
}

void control_add(struct control *c, int fd)
{
	admit(c, fd);
}

void control_session_changed(struct control *c, uint32_t id)
{
	struct client *cl;

	for (cl = c->clients; cl; cl = cl->next)
		if (!cl->dead)
			handle_event(cl, id);
}

void control_set_idle(struct control *c, uint64_t ns)
{
	c->idle_ns = ns;
	loop_timer_cancel(c->loop, &c->idle_check);
	need_idle_timer(c);
}

unsigned int control_clients(const struct control *c)
{
	return c->nclients;
}

void control_requests(const struct control *c, uint64_t *all, uint64_t *refused)
{
	*all = c->requests;
	*refused = c->refused;
}
