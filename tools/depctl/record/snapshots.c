// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libdep/collect/kept_now.h"
#include "tools/depctl/depctl.h"
#include "snapshots.h"

#define LOOK_NS		5000000ull	/* time between two looks at the sockets */
#define NAMES_MAX	1000000u

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void snapshots_begin(struct snapshots *s, const struct dep_session *session)
{
	struct stat st;
	int i;

	s->for_client = -1;
	s->number = 1;
	s->triggers.most = s->o->snapshots;
	s->listening[0] = snapshot_listen("session", session->dev, session->ino);
	s->listening[1] = stat(s->dir, &st) ? -errno :
			  snapshot_listen("store", st.st_dev, st.st_ino);
	for (i = 0; i < 2; i++)
		if (s->listening[i] < 0)
			dep_collector_message(s->collector, "depctl snapshot cannot reach the "
					      "recorder: %s", strerror(-s->listening[i]));
}

void snapshots_trigger(struct snapshots *s, const struct dep_kept *kept)
{
	dep_trigger_put(&s->triggers, kept);
}

/* ---- clients ---- */

static void drop_client(struct snapshots *s, uint32_t i)
{
	close(s->client[i].fd);
	s->client[i] = s->client[--s->nclients];
}

static void accept_clients(struct snapshots *s, int listening)
{
	int fd;

	while ((fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		if (s->nclients == SNAPSHOT_CLIENTS || !snapshot_peer_is(fd, geteuid())) {
			close(fd);
			continue;
		}
		s->client[s->nclients].fd = fd;
		s->client[s->nclients++].asked = false;
	}
}

static void send_response(int fd, const struct snapshot_response *r)
{
	/* A client that does not read loses only its response. */
	send(fd, r, sizeof(*r), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void refuse(int fd, int err, const char *why)
{
	struct snapshot_response r = { .err = err };

	snprintf(r.error, sizeof(r.error), "%s", why);
	send_response(fd, &r);
}

/* Read the request of client @i. Return: false if the client is gone or wrong. */
static bool hear(struct snapshots *s, uint32_t i)
{
	struct snapshot_request *q = &s->client[i].request;
	char more;
	ssize_t n;

	if (s->client[i].asked) {
		n = recv(s->client[i].fd, &more, sizeof(more), MSG_DONTWAIT);
		return n < 0 && errno == EAGAIN;
	}
	n = recv(s->client[i].fd, q, sizeof(*q), MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0)
		return errno == EAGAIN;
	if (n != sizeof(*q) || q->magic != SNAPSHOT_MAGIC ||
	    !memchr(q->dir, '\0', sizeof(q->dir)) || (*q->dir && *q->dir != '/'))
		return false;
	s->client[i].asked = true;
	return true;
}

static void look_at_clients(struct snapshots *s)
{
	uint64_t now = now_ns();
	uint32_t i;

	if (now - s->looked_ns < LOOK_NS)
		return;
	s->looked_ns = now;
	for (i = 0; i < 2; i++)
		if (s->listening[i] >= 0)
			accept_clients(s, s->listening[i]);
	for (i = 0; i < s->nclients; i++) {
		if (hear(s, i))
			continue;
		/* Its snapshot goes on. */
		if (s->client[i].fd == s->for_client)
			s->for_client = -1;
		drop_client(s, i--);
	}
}

static int next_client(const struct snapshots *s)
{
	uint32_t i;

	for (i = 0; i < s->nclients; i++)
		if (s->client[i].asked && s->client[i].fd != s->for_client)
			return (int)i;
	return -1;
}

static void forget_client(struct snapshots *s, int fd)
{
	uint32_t i;

	for (i = 0; i < s->nclients; i++)
		if (s->client[i].fd == fd) {
			drop_client(s, i);
			return;
		}
}

/* ---- one snapshot ---- */

/* Set the path to the name of the recording's store with the first number that is free. */
static int choose_name(struct snapshots *s)
{
	struct stat st;
	int n;

	for (; s->number < NAMES_MAX; s->number++) {
		n = snprintf(s->path, sizeof(s->path), "%s.%u", s->dir, s->number);
		if (n < 0 || (size_t)n >= sizeof(s->path))
			return -ENAMETOOLONG;
		if (lstat(s->path, &st))
			return 0;
	}
	return -EEXIST;
}

/* Begin a snapshot at s->path. Return: as dep_collector_save(). */
static int begin(struct snapshots *s, const struct dep_kept *kept)
{
	struct dep_save save = {
		.dir = s->path, .meta = s->meta, .level = s->o->level, .kept = kept,
	};
	int err = dep_collector_save(s->collector, &save);

	s->busy = !err;
	s->kept = *kept;
	return err;
}

static void serve_client(struct snapshots *s, int i)
{
	struct dep_kept kept = dep_kept_now(DEP_KEEP_ASKED);
	const char *dir = s->client[i].request.dir;
	int fd = s->client[i].fd, err = 0;

	if (*dir)
		snprintf(s->path, sizeof(s->path), "%s", dir);
	else
		err = choose_name(s);
	if (!err)
		err = begin(s, &kept);
	if (err == -EAGAIN)
		return;
	s->for_client = err ? -1 : fd;
	if (!err)
		return;
	refuse(fd, err, err == -EINVAL ? "nothing is being recorded any more" : strerror(-err));
	drop_client(s, (uint32_t)i);
}

static void serve_trigger(struct snapshots *s)
{
	int err = choose_name(s);

	s->for_client = -1;
	if (!err)
		err = begin(s, dep_trigger_first(&s->triggers));
	if (err == -EAGAIN)
		return;
	if (err)
		warn("no snapshot could be made: %s", strerror(-err));
	dep_trigger_drop(&s->triggers, !err);
}

static void report(struct snapshots *s, const struct dep_save_result *r)
{
	char reason[KEEP_TEXT], size[16];

	keep_text(&s->kept, reason);
	if (r->err)
		warn("the snapshot %s could not be stored: %s", s->path, r->error);
	else if (!s->o->quiet)
		warn("snapshot %s, %s: %s", s->path, human_size(r->raw_bytes, size), reason);
	if (r->err && s->kept.reason != DEP_KEEP_ASKED)
		s->triggers.skipped++;
}

static void respond(struct snapshots *s, const struct dep_save_result *result)
{
	struct snapshot_response r = {
		.err = result->err, .threads = result->threads, .raw_bytes = result->raw_bytes,
		.stored_bytes = result->stored_bytes,
	};

	if (result->from_ns && result->from_ns < s->kept.at_ns)
		r.kept_ns = s->kept.at_ns - result->from_ns;
	snprintf(r.error, sizeof(r.error), "%s", result->error);
	if (!result->err && !realpath(s->path, r.dir))
		snprintf(r.dir, sizeof(r.dir), "%s", s->path);
	send_response(s->for_client, &r);
	forget_client(s, s->for_client);
	s->for_client = -1;
}

void snapshots_tick(struct snapshots *s)
{
	struct dep_save_result result;
	int client;

	look_at_clients(s);
	if (s->busy && dep_collector_saved(s->collector, &result)) {
		s->busy = false;
		if (s->for_client >= 0)
			respond(s, &result);
		else
			report(s, &result);
	}
	if (s->busy)
		return;
	client = next_client(s);
	if (client >= 0)
		serve_client(s, client);
	else if (s->triggers.n)
		serve_trigger(s);
}

void snapshots_end(struct snapshots *s)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	int i;

	while (s->busy || s->triggers.n) {
		snapshots_tick(s);
		nanosleep(&pause, NULL);
	}
	for (i = 0; i < 2; i++)
		if (s->listening[i] >= 0)
			close(s->listening[i]);
	while (s->nclients)
		drop_client(s, 0);
	if (s->triggers.skipped)
		dep_collector_message(s->collector, "%llu triggers made no snapshot "
				      "(--snapshots=%u)",
				      (unsigned long long)s->triggers.skipped,
				      s->o->snapshots);
}
