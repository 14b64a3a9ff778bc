// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "snapshot_depd.h"
#include "tools/depctl/daemon/client.h"
#include "tools/depctl/depctl.h"

#define AGAIN_MS	50	/* pause before a busy session is asked again */
#define SAY_SO_AFTER	40	/* say that it is busy when it was asked so many times */
#define RESULT_MAX	(64u << 10)

/* Find the session with this store. Return: its number, or 0. */
static uint32_t session_of_store(struct client *c, const char *path)
{
	const cJSON *list, *s;
	struct stat want, st;

	if (stat(path, &want)) {
		client_fail(c, -ENOENT, "%s: %s", path, strerror(errno));
		return 0;
	}
	if (client_ask(c, client_request("sessions", 0)))
		return 0;
	list = cJSON_GetObjectItemCaseSensitive(c->answer, "sessions");
	cJSON_ArrayForEach(s, list) {
		if (!stat(client_string(s, "store"), &st) && st.st_dev == want.st_dev &&
		    st.st_ino == want.st_ino)
			return (uint32_t)client_number(s, "id");
	}
	client_fail(c, -ENOENT, "depd has no session with this store");
	return 0;
}

/* Begin the snapshot. Return: the socket from which its result comes, or a negative errno. */
static int begin(struct client *c, const struct snapshot_of_depd *of, uint32_t session)
{
	const struct timespec pause = { .tv_nsec = AGAIN_MS * 1000000l };
	uint32_t asked;
	cJSON *q;
	int ret;

	for (asked = 1;; asked++) {
		q = client_request("snapshot", session);
		if (of->pid)
			cJSON_AddNumberToObject(q, "pid", of->pid);
		if (*of->dir)
			cJSON_AddStringToObject(q, "store", of->dir);
		ret = client_ask(c, q);
		if (ret != -EBUSY)
			break;
		if (asked == SAY_SO_AFTER && !of->quiet)
			warn("waiting until another snapshot of the session is stored");
		nanosleep(&pause, NULL);
	}
	if (!ret && c->nfds != 1)
		ret = client_fail(c, -EPROTO, "%s: depd sent no socket for the result", c->path);
	if (ret)
		return ret;
	c->nfds = 0;
	return c->fds[0];
}

static uint64_t count(const cJSON *o, const char *name)
{
	double v = client_number(o, name);

	return v > 0 ? (uint64_t)v : 0;
}

/* Wait for the result, which is one message. */
static int receive(struct client *c, int fd, struct snapshot_response *r)
{
	static char text[RESULT_MAX];
	cJSON *o;
	ssize_t n;

	do
		n = recv(fd, text, sizeof(text), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return client_fail(c, -errno, "depd's result cannot be read: %s", strerror(errno));
	if (!n)
		return client_fail(c, -EPIPE, "depd ended before the snapshot was stored");
	o = cJSON_ParseWithLength(text, (size_t)n);
	if (!cJSON_IsObject(o)) {
		cJSON_Delete(o);
		return client_fail(c, -EPROTO, "depd's result is no JSON object");
	}
	*r = (struct snapshot_response){
		.err = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "ok")) ? 0 : -EIO,
		.threads = (uint32_t)count(o, "thread_count"), .raw_bytes = count(o, "raw_bytes"),
		.stored_bytes = count(o, "stored_bytes"), .kept_ns = count(o, "kept_ns"),
	};
	snprintf(r->error, sizeof(r->error), "%.255s", client_string(o, "message"));
	snprintf(r->dir, sizeof(r->dir), "%s", client_string(o, "store"));
	cJSON_Delete(o);
	return 0;
}

int snapshot_by_depd(const struct snapshot_of_depd *of, struct snapshot_response *r, char *why)
{
	struct client c = { .fd = -1 };
	uint32_t session = of->session;
	int ret = client_open(&c, of->socket), fd;

	if (!ret && of->store) {
		session = session_of_store(&c, of->store);
		ret = session ? 0 : -ENOENT;
	}
	if (!ret) {
		fd = begin(&c, of, session);
		ret = fd < 0 ? fd : receive(&c, fd, r);
		if (fd >= 0)
			close(fd);
	}
	snprintf(why, SNAPSHOT_WHY, "%s", ret ? c.why : "");
	client_close(&c);
	return ret;
}
