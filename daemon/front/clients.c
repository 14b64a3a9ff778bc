// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Clients of the front: accept a connection, get the client's credentials from the kernel, and pass
 * the connection to the instance with these credentials.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "front.h"

#define ACCEPT_ONCE	16
#define WAITING_MAX	1024u	/* maximum number of queued clients of all users */
#define WAITING_ROOT	16u	/* places of WAITING_MAX that are reserved for root */

static int by_number(const void *a, const void *b)
{
	gid_t x = *(const gid_t *)a, y = *(const gid_t *)b;

	return (x > y) - (x < y);
}

/* Get the peer's credentials.  Groups are sorted, so that equal sets compare equal. */
static int who_is_it(int fd, struct user *u)
{
	struct ucred who;
	socklen_t size = sizeof(who);

	*u = (struct user){ 0 };
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size))
		return -errno;
	u->uid = who.uid;
	u->gid = who.gid;
	size = sizeof(u->groups);
	/* A peer with more than USER_GROUPS_MAX groups is treated as having none. */
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, u->groups, &size))
		u->ngroups = (int)(size / sizeof(u->groups[0]));
	qsort(u->groups, (size_t)u->ngroups, sizeof(u->groups[0]), by_number);
	return 0;
}

static void admit(struct front *f, int fd)
{
	struct instance *i;
	struct account *a;
	struct user u;
	int ret;

	if (who_is_it(fd, &u)) {
		close(fd);
		return;
	}
	f->accepted++;
	a = account_of(f->accounts, u.uid);
	if (f->shutting_down) {
		front_refuse(f, fd, -EAGAIN, "depd is shutting down");
	} else if (!a) {
		front_refuse(f, fd, -ENOMEM, NULL);
	} else if (!account_rate(a, RATE_CONNECTS, 1, loop_now())) {
		account_refused(a);
		front_refuse(f, fd, -EUSERS, "too many connections of this user in a short time");
	} else if (f->nwaiting >= WAITING_MAX - (u.uid ? WAITING_ROOT : 0)) {
		front_refuse(f, fd, -EUSERS, "depd has too many clients");
	} else {
		ret = instance_get(f, &u, &i);
		if (!ret)
			ret = instance_client(i, fd);
		if (ret)
			front_refuse(f, fd, ret, ret == -EUSERS ?
				      "this user has too many clients, or clients with too many "
				      "different sets of groups" : NULL);
	}
}

static void ready(struct loop_watch *w, short revents)
{
	struct front *f = (struct front *)((char *)w - offsetof(struct front, listen));
	int i, fd;

	(void)revents;
	for (i = 0; i < ACCEPT_ONCE; i++) {
		fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0) {
			admit(f, fd);
			continue;
		}
		if (errno == ECONNABORTED || errno == EINTR)
			continue;
		if (errno != EAGAIN) {
			f->accept_paused = true;
			loop_watch_change(f->loop, w, 0);
		}
		return;
	}
}

int accept_open(struct front *f, int fd)
{
	f->listen.ready = ready;
	return loop_watch_add(f->loop, &f->listen, fd, POLLIN);
}

void accept_second(struct front *f)
{
	if (!f->accept_paused)
		return;
	f->accept_paused = false;
	loop_watch_change(f->loop, &f->listen, POLLIN);
}
