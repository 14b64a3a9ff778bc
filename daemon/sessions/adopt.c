// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Adoption: continue the sessions of an earlier depd, or close them if that fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libdep/collect/module_session.h"
#include "libdep/format/write/resume.h"
#include "exit_status.h"
#include "teardown.h"
#include "state_file.h"
#include "store_dir.h"
#include "daemon/base/log.h"
#include "session.h"

#define DYING_NS	10000000l	/* pause before a busy store or module session is retried */
#define DYING_TRIES	1000		/* retries of a busy store or module session */
#define STATUS_NS	5000000000ull	/* time for a client to reconnect and report the status */

/*
 * Sleep if @ret is -EBUSY.  Return: true if the caller must try again.  The kernel closes the
 * descriptors of a killed depd one by one: the lock of the run directory can be free while a store
 * or module session still is in use.
 */
static bool is_dying(int ret, int *tries)
{
	const struct timespec pause = { .tv_nsec = DYING_NS };

	if (ret != -EBUSY || ++*tries > DYING_TRIES)
		return false;
	nanosleep(&pause, NULL);
	return true;
}

static int adopt_ring(struct session *s, int fd, const struct dep_session_saved *saved)
{
	const struct dep_base base = s->target.base;
	struct dep_why reason = { "" };
	int ret, tries = 0;

	do
		ret = dep_session_adopt(&s->ring, fcntl(fd, F_DUPFD_CLOEXEC, 3), saved);
	while (is_dying(ret, &tries));
	close(fd);
	if (ret) {
		snprintf(s->error, sizeof(s->error), "the session file cannot be used: %s",
			 strerror(-ret));
		return ret;
	}
	ret = dep_target_adopt(&s->target, s->ring.map, &s->ring.layout, s->ring.fd, &reason);
	s->target.base = base;
	if (ret)
		snprintf(s->error, sizeof(s->error), "%s", reason.text);
	else if (s->ring.module)
		s->target.ring_fd = dep_module_writer(s->ring.module);
	return ret;
}

static int adopt_collector(struct session *s)
{
	struct dep_exec_ops ops;
	struct dep_collect_setup setup = session_setup(s, &ops);
	int ret, tries = 0;

	ret = dep_collector_create(&s->collector, &s->ring, &setup);
	if (ret || !*s->store)
		return ret;
	do
		ret = dep_collector_adopt(s->collector, s->store, s->level);
	while (is_dying(ret, &tries));
	if (ret)
		snprintf(s->error, sizeof(s->error), "the store cannot be continued: %s",
			 *dep_error() ? dep_error() : strerror(-ret));
	return ret;
}

/*
 * Close the store of a session that cannot be adopted; its data stays readable.
 *
 * Return: 0; -EALREADY: the store was closed already; or another negative errno.
 */
static int close_store(struct session *s)
{
	struct dep_ending ending = {
		.cause = DEP_CLOSE_LOST, .exit_status = s->status, .loss = s->before.loss,
	};
	struct dep_writer *w;
	struct dep_resume r;
	int ret, tries = 0;

	/* Without a state file the store's path is not known. */
	if (!s->store || !*s->store)
		return 0;
	do
		ret = dep_writer_resume(&w, s->store, s->level, NULL, NULL, &r);
	while (is_dying(ret, &tries));
	if (ret == -EALREADY)
		dep_store_rebuild(s->store);
	if (ret)
		return ret;
	dep_resume_free(&r);
	dep_writer_message(w, "depd was killed, and no other depd could continue the recording");
	dep_writer_close(w, &ending);
	return 0;
}

struct late {
	struct loop_timer timer;
	struct depd *d;
	uint32_t id;
};

static void client_is_late(struct loop_timer *t)
{
	struct late *late = (struct late *)t;
	struct session *s = session_find(late->d, late->id);

	if (s && !s->exit_reported) {
		s->has_client = false;
		if (s->state == SESSION_OPEN)
			session_end(s, DEP_CLOSE_ABANDONED, NULL);
	}
	free(late);
}

/*
 * Wait up to STATUS_NS for the client to connect again and report the exit status.  After that,
 * continue without the status, and end the session if no process runs in it.  A rule's session has
 * no client, but must end too if its process was not attached.
 */
static void expect_client(struct session *s)
{
	struct late *late;

	if (s->exit_reported || (!s->has_client && s->launched))
		return;
	late = calloc(1, sizeof(*late));
	if (!late) {
		s->has_client = false;
		return;
	}
	late->timer.due = client_is_late;
	late->d = s->d;
	late->id = s->id;
	loop_timer_set(s->d->loop, &late->timer, STATUS_NS, 0);
}

/*
 * Adopt a session.  Return: 0; -ECANCELED: its creation was not complete; -EALREADY: its store is
 * closed, or its removal (--keep-if) has begun; or another negative errno.
 */
static int adopt(struct session *s, int fd)
{
	struct dep_session_saved saved;
	int ret;

	ret = file_open(&s->file, s, &saved);
	if (ret) {
		snprintf(s->error, sizeof(s->error), "the state file is %s",
			 ret == -ENOENT ? "missing" : "damaged or of another version");
		close(fd);
		return ret;
	}
	if (!s->begun || s->removed) {
		close(fd);
		return s->begun ? -EALREADY : -ECANCELED;
	}
	ret = adopt_ring(s, fd, &saved);
	/*
	 * What the window had is lost, or in files, of which `depctl snapshot' makes a store: the
	 * descriptions of code that would still be needed were in memory.
	 */
	if (!ret && s->last_bytes) {
		if (s->last_on_disk)
			snprintf(s->error, sizeof(s->error), "its newest part (--last-on-disk) is "
				 "in files, of which `depctl snapshot %.300s' makes a store",
				 s->store);
		else
			snprintf(s->error, sizeof(s->error), "it kept its newest part (--last) in "
				 "the memory of the depd that was killed");
		ret = -ENODATA;
	}
	if (!ret && *s->rule && s->pid && !s->exit_reported)
		exit_status_watch(s, s->pid);
	if (!ret)
		ret = adopt_collector(s);
	/* It may have ended, and another process have its number. */
	if (!ret && s->first_fd >= 0 && !dep_collector_records(s->collector, s->pid))
		exit_status_end(s);
	if (!ret)
		ret = session_start(s);
	if (ret)
		return ret;
	s->adopted = true;
	s->d->adopted++;
	if (s->cause)
		session_end(s, s->cause, NULL);
	else
		expect_client(s);
	s->d->session_ops->begun(s);
	return 0;
}

static void forget(struct session *s)
{
	char name[FDSTORE_NAME_MAX];

	snprintf(name, sizeof(name), "session-%u", s->id);
	fdstore_remove(s->d->fdstore, name);
	file_close(s->file, s, true);
	session_free(s);
}

/* Forget a session that cannot be adopted; only its store remains. */
static void give_up(struct session *s)
{
	s->state = SESSION_ENDED;
	if (s->store)
		s->d->session_ops->ended(s);
	forget(s);
}

/*
 * Drop a session that an earlier depd had not finished creating.  No client got a response for it.
 * The client repeats its request for the same store, so the store must be removed.
 */
static void undo(struct session *s)
{
	int tries = 0;

	while (!s->store_ino && is_dying(made_in_use(s) ? -EBUSY : 0, &tries))
		;
	log_msg(LOG_NOTICE, s->id, "dropping the session, since depd was killed while creating it: "
		"%s", s->command);
	made_remove(s);
	forget(s);
}

static void adopt_one(struct depd *d, uint32_t id, int fd)
{
	struct session *s = session_new(d, id);
	int ret;

	if (id > d->last_id)
		d->last_id = id;
	if (!s) {
		close(fd);
		return;
	}
	ret = adopt(s, fd);
	if (!ret) {
		log_msg(LOG_NOTICE, id, "adopted from an earlier depd: %s", s->command);
		return;
	}
	if (ret == -ECANCELED) {
		undo(s);
		return;
	}
	if (ret == -EALREADY) {
		if (!s->removed)
			close_store(s);
		session_teardown_adopted(s);
		return;
	}
	log_msg(LOG_ERR, id, "the session cannot be adopted, its programs run unrecorded: %s",
		*s->error ? s->error : strerror(-ret));
	/* The programs must stop recording: no collector will make room in their rings. */
	if (s->ring.map)
		__atomic_store_n(&s->ring.map->abandoned, 1, __ATOMIC_SEQ_CST);
	close_store(s);
	give_up(s);
}

static bool is_kept(const struct fdstore_entry *kept, size_t n, uint32_t id)
{
	char name[FDSTORE_NAME_MAX];
	size_t i;

	snprintf(name, sizeof(name), "session-%u", id);
	for (i = 0; i < n; i++)
		if (!strcmp(kept[i].name, name))
			return true;
	return false;
}

/*
 * Close a session that has a state file but no stored descriptor.  Either the fd store's holder was
 * killed as well, or depd was killed while it removed the entries of an ended session.
 */
static void close_lost_one(struct depd *d, uint32_t id)
{
	struct session *s = session_new(d, id);
	struct dep_session_saved saved;

	if (id > d->last_id)
		d->last_id = id;
	if (!s)
		return;
	if (!file_open(&s->file, s, &saved)) {
		if (!s->begun) {
			undo(s);
			return;
		}
		if (s->removed || close_store(s) == -EALREADY) {
			session_teardown_adopted(s);
			return;
		}
		log_msg(LOG_ERR, s->id, "the session cannot be adopted: its session file was not "
			"kept in the fd store");
		give_up(s);
		return;
	}
	forget(s);
}

static void close_lost(struct depd *d, const struct fdstore_entry *kept, size_t n)
{
	uint32_t ids[DEPD_SESSIONS_MAX];
	size_t i, found = file_list(d->rundir, ids, DEPD_SESSIONS_MAX);

	for (i = 0; i < found; i++)
		if (!is_kept(kept, n, ids[i]))
			close_lost_one(d, ids[i]);
}

void session_adopt_all(struct depd *d, struct fdstore_entry *kept, size_t n)
{
	unsigned int id;
	size_t i;
	int used;

	close_lost(d, kept, n);
	for (i = 0; i < n; i++) {
		used = 0;
		if (sscanf(kept[i].name, "session-%u%n", &id, &used) == 1 && !kept[i].name[used]) {
			adopt_one(d, id, kept[i].fd);
			continue;
		}
		close(kept[i].fd);
		fdstore_remove(d->fdstore, kept[i].name);
	}
}
