// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "snapshot.h"
#include "libdep/collect/kept_now.h"
#include "libdep/collect/trigger_queue.h"
#include "daemon/base/log.h"
#include "daemon/base/strbuf.h"

#define NAMES_MAX	1000000u
#define BEGIN_NS	10000000000ull	/* for the last snapshots: most time to begin */

struct session_snapshot {
	/* Of the session, for the manifest of each snapshot: deep copies */
	struct dep_meta meta;
	char **argv, *cwd;
	uint32_t number;	/* next number of a name */
	bool asked;		/* a snapshot has been asked for and has not ended */
	int fd;			/* socket to the client that asked for it; -1: none */
	struct dep_kept kept;
	char path[PATH_MAX];
	struct dep_trigger_queue triggers;
	bool over;		/* triggers count no more: the session ends */
	/* The newest snapshot that is stored, and how many there are */
	char newest[PATH_MAX];
	struct dep_kept newest_kept;
	uint32_t stored;
};

static int copy_argv(struct session_snapshot *n, const struct session_config *w)
{
	int i;

	n->argv = calloc((size_t)w->argc + 1, sizeof(*n->argv));
	if (!n->argv)
		return -ENOMEM;
	for (i = 0; i < w->argc; i++) {
		n->argv[i] = strdup(w->argv[i]);
		if (!n->argv[i])
			return -ENOMEM;
		n->meta.argc = i + 1;
	}
	n->meta.argv = n->argv;
	return 0;
}

int snapshot_prepare(struct session *s, const struct session_config *w)
{
	struct session_snapshot *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	s->snapshot = n;
	n->fd = -1;
	n->number = 1;
	n->triggers.most = w->snapshots;
	n->cwd = strdup(w->cwd ? w->cwd : "?");
	n->meta = (struct dep_meta){
		.cwd = n->cwd, .session_flags = s->flags,
		.chunk_size = s->ring.layout.chunk_size, .nchunks = s->ring.layout.nchunks,
		.aslr = w->aslr, .start_ns = s->start_ns,
		.start_realtime_ns = s->start_realtime_ns,
		.shared = w->shared, .group = w->group,
	};
	return n->cwd ? copy_argv(n, w) : -ENOMEM;
}

void snapshot_free(struct session *s)
{
	struct session_snapshot *n = s->snapshot;
	int i;

	if (!n)
		return;
	if (n->fd >= 0)
		close(n->fd);
	for (i = 0; n->argv && i < n->meta.argc; i++)
		free(n->argv[i]);
	free(n->argv);
	free(n->cwd);
	free(n);
	s->snapshot = NULL;
}

/* ---- the result ---- */

/* Send the result to the client.  One that does not read it, or is gone, loses only that. */
static void answer(struct session_snapshot *n, struct strbuf *t)
{
	char *line;

	strbuf_close(t, '}');
	line = strbuf_take(t);
	if (line && n->fd >= 0)
		send(n->fd, line, strlen(line), MSG_DONTWAIT | MSG_NOSIGNAL);
	free(line);
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
	n->asked = false;
}

static void failed(struct session *s, int err, const char *why)
{
	const char *name = strerrorname_np(-err);
	struct strbuf t = { 0 };

	log_msg(LOG_WARNING, s->id, "the snapshot %s could not be stored: %s", s->snapshot->path,
		why);
	if (s->snapshot->kept.reason != DEP_KEEP_ASKED)
		s->snapshot->triggers.skipped++;
	strbuf_open(&t, NULL, '{');
	strbuf_bool(&t, "ok", false);
	strbuf_string(&t, "error", name ? name : "EIO");
	strbuf_string(&t, "message", why);
	answer(s->snapshot, &t);
}

static void succeeded(struct session *s, const struct dep_save_result *r)
{
	struct session_snapshot *n = s->snapshot;
	uint64_t kept = 0;
	struct strbuf t = { 0 };

	if (r->from_ns && r->from_ns < n->kept.at_ns)
		kept = n->kept.at_ns - r->from_ns;
	log_msg(LOG_INFO, s->id, "snapshot %s", n->path);
	memcpy(n->newest, n->path, sizeof(n->newest));
	n->newest_kept = n->kept;
	n->stored++;
	strbuf_open(&t, NULL, '{');
	strbuf_bool(&t, "ok", true);
	strbuf_string(&t, "store", n->path);
	strbuf_u64(&t, "thread_count", r->threads);
	strbuf_u64(&t, "raw_bytes", r->raw_bytes);
	strbuf_u64(&t, "stored_bytes", r->stored_bytes);
	strbuf_u64(&t, "kept_ns", kept);
	answer(n, &t);
	if (s->d->control)
		control_session_changed(s->d->control, s->id);
}

/* ---- one snapshot ---- */

/*
 * Set the path to the store's name with the first number that is free.  A name in .dep keeps that
 * end, by which the retention of rules' stores knows them.
 */
static int choose_name(struct session *s)
{
	struct session_snapshot *n = s->snapshot;
	size_t len = strlen(s->store), stem = len;
	struct stat st;
	int used;

	if (len > 4 && !strcmp(s->store + len - 4, ".dep"))
		stem -= 4;
	for (; n->number < NAMES_MAX; n->number++) {
		used = snprintf(n->path, sizeof(n->path), "%.*s.%u%s", (int)stem, s->store,
				n->number, s->store + stem);
		if (used < 0 || (size_t)used >= sizeof(n->path))
			return -ENAMETOOLONG;
		if (lstat(n->path, &st))
			return errno == ENOENT ? 0 : -errno;
	}
	return -EEXIST;
}

/* Begin to store the snapshot that was asked for, unless the collector must first do a pass. */
static void begin(struct session *s)
{
	struct session_snapshot *n = s->snapshot;
	const struct dep_save save = {
		.dir = n->path, .meta = &n->meta, .level = s->level, .kept = &n->kept,
	};
	int err = dep_collector_save(s->collector, &save);

	if (err && err != -EAGAIN)
		failed(s, err, err == -EINVAL ? "nothing is being recorded any more" :
		       strerror(-err));
}

/* ---- triggers ---- */

/* Take the triggers that threads have met since the last step. */
static void take_triggers(struct session *s)
{
	struct dep_kept kept;

	while (dep_collector_triggered(s->collector, &kept))
		dep_trigger_put(&s->snapshot->triggers, &kept);
}

/* Ask for the snapshot of the trigger that has waited longest. */
static void serve_trigger(struct session *s)
{
	struct session_snapshot *n = s->snapshot;
	const struct dep_kept *kept = dep_trigger_first(&n->triggers);
	int err;

	if (!kept)
		return;
	n->kept = *kept;
	err = choose_name(s);
	n->asked = !err;
	/* One that fails counts, too: a program cannot fill the log with messages. */
	dep_trigger_drop(&n->triggers, true);
	if (!err)
		return;
	n->triggers.skipped++;
	log_msg(LOG_WARNING, s->id, "no snapshot could be made: %s", strerror(-err));
}

int snapshot_trigger(struct session *s, const struct dep_kept *kept, char *why)
{
	struct session_snapshot *n = s->snapshot;

	if (!n || !n->triggers.most) {
		snprintf(why, CONTROL_WHY, "session %u makes no snapshots for triggers", s->id);
		return -EINVAL;
	}
	if (n->over || s->state == SESSION_ENDING || s->state == SESSION_ENDED) {
		snprintf(why, CONTROL_WHY, "session %u has ended", s->id);
		return -EALREADY;
	}
	dep_trigger_put(&n->triggers, kept);
	loop_timer_set(s->d->loop, &s->step, 0, 0);
	return 0;
}

void snapshot_info(const struct session *s, struct session_info *out)
{
	const struct session_snapshot *n = s->snapshot;

	if (!n)
		return;
	out->snapshots = n->stored;
	out->skipped_triggers = n->triggers.skipped;
	out->newest_snapshot = n->stored ? n->newest : NULL;
	out->newest_kept = n->newest_kept;
}

/* ---- steps ---- */

void snapshot_step(struct session *s)
{
	struct dep_save_result result;

	if (!s->snapshot)
		return;
	if (!s->snapshot->over)
		take_triggers(s);
	if (!s->snapshot->asked)
		serve_trigger(s);
	if (!s->snapshot->asked)
		return;
	if (!dep_collector_saving(s->collector)) {
		begin(s);
		return;
	}
	if (!dep_collector_saved(s->collector, &result))
		return;
	if (result.err)
		failed(s, result.err, *result.error ? result.error : strerror(-result.err));
	else
		succeeded(s, &result);
}

bool snapshot_finish(struct session *s)
{
	struct session_snapshot *n = s->snapshot;

	if (!n)
		return true;
	/* A snapshot can need other passes of the collector before it begins. */
	dep_collector_step(s->collector);
	snapshot_step(s);
	n->over = true;
	if (n->asked && !dep_collector_saving(s->collector) &&
	    loop_now() - s->ending_ns > BEGIN_NS)
		failed(s, -ETIMEDOUT, "its programs describe code too fast");
	if (n->asked || dep_trigger_first(&n->triggers))
		return false;
	if (n->triggers.skipped)
		dep_collector_message(s->collector, "%llu triggers made no snapshot "
				      "(--snapshots=%u)",
				      (unsigned long long)n->triggers.skipped, n->triggers.most);
	return true;
}

static int refuse(int err, char *why, const char *text)
{
	snprintf(why, CONTROL_WHY, "%s", text);
	return err;
}

int snapshot_ask(struct session *s, const char *store, int *fd, const char **path, char *why)
{
	struct session_snapshot *n = s->snapshot;
	int err = 0, pair[2];

	if (!n)
		return refuse(-EINVAL, why, "the session keeps all that it records: snapshots are "
			      "of sessions with --last");
	if (s->state == SESSION_ENDING || s->state == SESSION_ENDED)
		return refuse(-EALREADY, why, "the session has ended");
	if (n->asked)
		return refuse(-EBUSY, why, "another snapshot of the session is being stored");
	if (store)
		snprintf(n->path, sizeof(n->path), "%s", store);
	else
		err = choose_name(s);
	if (err)
		return refuse(err, why, strerror(-err));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return refuse(-errno, why, "no socket can be made for the result");
	n->fd = pair[0];
	*fd = pair[1];
	*path = n->path;
	n->asked = true;
	n->kept = dep_kept_now(DEP_KEEP_ASKED);
	loop_timer_set(s->d->loop, &s->step, 0, 0);
	return 0;
}
