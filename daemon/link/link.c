// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages between the front (root's depd) and its instances (depd processes of users). */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xxhash.h>

#include "link.h"

#define BODY(member)	sizeof(((struct link_msg *)0)->member)

static const uint16_t body[LINK_OPS] = {
	[LINK_START] = BODY(start), [LINK_CONFIG] = BODY(config), [LINK_IDS] = BODY(ids),
	[LINK_ATTACH] = BODY(attach), [LINK_RELOADED] = BODY(result), [LINK_REPORT] = BODY(report),
	[LINK_GOT] = BODY(number), [LINK_ATTACHED] = BODY(result), [LINK_BYE] = BODY(number),
};

_Static_assert(sizeof(struct link_msg) < UINT16_MAX, "message sizes fit into uint16_t");

static size_t size_of(uint32_t op)
{
	return offsetof(struct link_msg, start) + body[op];
}

union room {
	char buf[CMSG_SPACE(LINK_FDS * sizeof(int))];
	struct cmsghdr align;
};

int link_send(int sock, const struct link_msg *m, const int *fds, int n)
{
	struct iovec iov = { .iov_base = (void *)m, .iov_len = size_of(m->op) };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };
	union room room = { { 0 } };
	struct cmsghdr *c;

	if (sock < 0)
		return -EPIPE;
	if (n) {
		h.msg_control = room.buf;
		h.msg_controllen = CMSG_SPACE(n * sizeof(int));
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	}
	while (sendmsg(sock, &h, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		if (errno != EINTR)
			return errno == ECONNRESET ? -EPIPE : -errno;
	return 0;
}

/* Copy the received descriptors to @fds; close those that do not fit. */
static void take_fds(struct msghdr *h, int *fds)
{
	struct cmsghdr *c;
	size_t i, n;
	int fd, k = 0;

	for (c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (k < LINK_FDS)
				fds[k++] = fd;
			else
				close(fd);
		}
	}
}

int link_receive(int sock, struct link_msg *m, int *fds, bool wait)
{
	struct iovec iov = { .iov_base = m, .iov_len = sizeof(*m) };
	union room room;
	struct msghdr h = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = room.buf,
		.msg_controllen = sizeof(room.buf),
	};
	ssize_t n;
	int i;

	for (i = 0; i < LINK_FDS; i++)
		fds[i] = -1;
	do
		n = recvmsg(sock, &h, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	if (!n)
		return -EPIPE;
	take_fds(&h, fds);
	if (n < (ssize_t)offsetof(struct link_msg, start) || m->op >= LINK_OPS ||
	    n != (ssize_t)size_of(m->op) || h.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		for (i = 0; i < LINK_FDS; i++) {
			if (fds[i] >= 0)
				close(fds[i]);
			fds[i] = -1;
		}
		return -EPROTO;
	}
	return 0;
}

uint64_t link_rule_name(const char *name)
{
	return XXH3_64bits(name, strlen(name));
}

void link_add_info(struct depd_info *to, const struct link_counters *c,
		   const struct link_gauges *g)
{
	int i;

	to->cpu_ns += c->cpu_ns;
	to->memory_bytes += g->memory_bytes;
	to->sessions_begun += c->begun;
	to->sessions_adopted += c->adopted;
	for (i = 0; i < DEP_CLOSE_CAUSES; i++)
		to->sessions_ended[i] += c->ended[i];
	to->sessions_open += (uint32_t)g->open;
	to->chunks += c->chunks;
	to->raw_bytes += c->raw_bytes;
	to->stored_bytes += c->stored_bytes;
	for (i = 0; i < STAGES; i++) {
		to->stage_ns[i] += c->stage_ns[i];
		to->stage_chunks[i] += c->stage_chunks[i];
	}
	to->queue_jobs += (uint32_t)g->queue_jobs;
	to->workers += (uint32_t)g->workers;
	to->workers_busy += (uint32_t)g->workers_busy;
	dep_loss_add(&to->loss, &c->loss);
	to->requests += c->requests;
	to->requests_refused += c->refused;
	to->clients += (uint32_t)g->clients;
	to->stores_removed += c->removed;
	to->stores_removed_bytes += c->removed_bytes;
	to->lag_chunks += g->lag_chunks;
	to->lag_bytes += g->lag_bytes;
	to->waiting_threads += g->waiting_threads;
}
