// SPDX-License-Identifier: GPL-2.0-or-later
/* fd store (keeps descriptors for the next depd) in a holder process: depd's side. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"
#include "holder.h"
#include "daemon/base/rundir.h"

#define ANSWER_MS	2000
/* Attempts to connect, 50 ms apart: the holder may not have noticed the last depd's end yet. */
#define TRIES		40

/* Close the connection: a late answer would be taken for the answer to the next request. */
static int broken(struct fdstore *k, int ret)
{
	close(k->sock);
	k->sock = -1;
	return ret == -EAGAIN ? -ETIMEDOUT : ret;
}

static int ask(struct fdstore *k, struct holder_msg *m, int fd, int *got)
{
	uint32_t op = m->op;
	int ret, one;

	if (k->sock < 0)
		return -EPIPE;
	ret = holder_send(k->sock, m, fd);
	if (!ret)
		ret = holder_receive(k->sock, m, &one);
	if (ret)
		return broken(k, ret);
	if (got)
		*got = one;
	else if (one >= 0)
		close(one);
	return m->op == op ? m->result : broken(k, -EPROTO);
}

static int holder_put(struct fdstore *k, const char *name, int fd)
{
	struct holder_msg m = { .op = HOLDER_PUT };

	snprintf(m.name, sizeof(m.name), "%s", name);
	return ask(k, &m, fd, NULL);
}

static int holder_remove(struct fdstore *k, const char *name)
{
	struct holder_msg m = { .op = HOLDER_REMOVE };

	snprintf(m.name, sizeof(m.name), "%s", name);
	return ask(k, &m, -1, NULL);
}

static const struct fdstore_ops holder_ops = { holder_put, holder_remove };

static int make_holder(const char *rundir)
{
	int fd = rundir_socket(rundir, HOLDER_SOCKET, SOCK_SEQPACKET, 0600);
	int ret;

	if (fd < 0)
		return fd;
	ret = holder_start(fd, rundir);
	close(fd);
	return ret;
}

static int hello(struct fdstore *k)
{
	struct holder_msg m = { 0 };
	int fd, ret;

	if (!fdstore_peer_ok(k->sock))
		return broken(k, -EPERM);
	ret = holder_receive(k->sock, &m, &fd);
	if (fd >= 0)
		close(fd);
	if (!ret)
		ret = m.op != HOLDER_HELLO || strcmp(m.name, HOLDER_VERSION) ? -EPROTO : m.result;
	return ret ? broken(k, ret) : 0;
}

static int find_holder(struct fdstore *k, const char *rundir)
{
	unsigned int i;
	int ret = -EBUSY;

	for (i = 0; i < TRIES; i++) {
		k->sock = rundir_connect(rundir, HOLDER_SOCKET, SOCK_SEQPACKET, ANSWER_MS);
		if (k->sock >= 0) {
			ret = hello(k);
			/* -EPIPE: the holder was about to end; try to find or start another. */
			if (ret != -EBUSY && ret != -EPIPE)
				return ret;
			usleep(50000);
			continue;
		}
		ret = k->sock;
		if (ret == -ENOENT || ret == -ECONNREFUSED)
			ret = make_holder(rundir);
		if (ret)
			return ret;
	}
	return ret;
}

static int take_all(struct fdstore *k, struct fdstore_list *kept)
{
	struct holder_msg m;
	uint32_t i;
	int fd, ret;

	for (i = 0; i < HOLDER_FDS_MAX; i++) {
		m = (struct holder_msg){ .op = HOLDER_FETCH, .arg = i };
		ret = ask(k, &m, -1, &fd);
		if (ret)
			return ret == -ENOENT ? 0 : ret;
		ret = fd < 0 ? -EPROTO : fdstore_list_add(kept, m.name, fd);
		if (ret) {
			if (fd >= 0)
				close(fd);
			return ret;
		}
	}
	return 0;
}

int fdstore_by_holder(struct fdstore *k, const char *rundir, struct fdstore_list *kept, char *why,
		      size_t why_size)
{
	int ret = find_holder(k, rundir);

	if (!ret)
		ret = take_all(k, kept);
	if (ret == -EBUSY)
		snprintf(why, why_size, "another depd uses the holder process of %s", rundir);
	else if (ret)
		snprintf(why, why_size, "cannot use the holder process at %s/%s: %s", rundir,
			 HOLDER_SOCKET, strerror(-ret));
	k->ops = &holder_ops;
	k->has_holder = true;
	return ret;
}
