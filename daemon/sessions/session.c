// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "libdep/collect/module_session.h"
#include "libdep/format/file/remove.h"
#include "libdep/format/write/store_dir.h"
#include "libdep/format/write/store_writer.h"
#include "exit_status.h"
#include "session.h"
#include "teardown.h"
#include "snapshot.h"
#include "state_file.h"
#include "session_files.h"
#include "daemon/base/log.h"

#define STEP_NS		20000000ull
/* steps of a session's collector before other sessions are handled */
#define STEPS		16
/* memory for a window on the disk: so many bytes, and this part of the bound of its files */
#define DISK_MEMORY	(64ull << 20)
#define DISK_MEMORY_PART 64

static uint64_t realtime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static int refuse(int err, char *why, const char *text)
{
	snprintf(why, CONTROL_WHY, "%s: %s", text, strerror(-err));
	return err;
}

/* ---- creation ---- */

static void due(struct loop_timer *t)
{
	struct session *s = (struct session *)((char *)t - offsetof(struct session, step));

	if (s->state == SESSION_ENDED)
		session_free(s);
	else
		session_step(s);
}

struct session *session_new(struct depd *d, uint32_t id)
{
	struct session *s = calloc(1, sizeof(*s));

	if (s)
		s->exec = calloc(ADEPT_MAX_PROCS, sizeof(*s->exec));
	if (!s || !s->exec) {
		free(s);
		return NULL;
	}
	s->d = d;
	s->id = id;
	s->ring.fd = -1;
	s->wakeup = -1;
	s->first_fd = -1;
	s->status = -1;
	s->step.due = due;
	s->next = d->sessions;
	d->sessions = s;
	d->nsessions++;
	return s;
}

void session_free(struct session *s)
{
	struct session **at = &s->d->sessions;

	loop_timer_cancel(s->d->loop, &s->step);
	s->d->session_ops->untrace(s);
	if (s->wakeup >= 0)
		wakeups_remove(s->d->wakeups, s->wakeup);
	loop_remove(s->d->loop, &s->module_ready);
	if (s->collector)
		dep_collector_free(s->collector);
	/* The collector's snapshot uses it. */
	snapshot_free(s);
	exit_status_end(s);
	dep_session_destroy(&s->ring);
	free(s->exec);
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	s->d->nsessions--;
	free(s->store);
	free(s->command);
	free(s->rule);
	free(s);
}

uint32_t session_next_id(struct depd *d)
{
	return d->front ? d->front->next_id(d, false) : d->last_id + 1;
}

static int check_limits(struct depd *d, char *why)
{
	uint32_t most = d->config.max_sessions ? d->config.max_sessions : DEPD_SESSIONS_MAX;
	uint32_t open = 0;
	struct session *s;

	for (s = d->sessions; s; s = s->next)
		open += s->state != SESSION_ENDED;
	if (d->front)
		most = d->front->sessions_most(d);
	if (d->shutting_down)
		snprintf(why, CONTROL_WHY, "depd is shutting down");
	else if (open >= most)
		snprintf(why, CONTROL_WHY, "too many sessions: user %u has %u, and no more are "
			 "allowed now", d->self.uid, open);
	else if (!session_next_id(d))
		snprintf(why, CONTROL_WHY, "user %u starts sessions too often: try again later",
			 d->self.uid);
	else
		return 0;
	return -EAGAIN;
}

/*
 * Bytes of memory that a window may have.  One on the disk has the descriptions of code there as
 * well as in memory, and a few hundred bytes of memory for each of its chunks.
 */
static uint64_t memory_of_last(uint64_t bytes, bool on_disk)
{
	uint64_t most = DISK_MEMORY + bytes / DISK_MEMORY_PART;

	return on_disk && most < bytes ? most : bytes;
}

/* Check that the windows of all sessions may have this much memory. */
static int check_last(struct depd *d, uint64_t bytes, char *why)
{
	uint64_t most = policy_max_last(&d->config), used = 0;
	struct session *s;

	for (s = d->sessions; s; s = s->next)
		if (s->state != SESSION_ENDED)
			used += memory_of_last(s->last_bytes, s->last_on_disk);
	if (bytes <= most && used <= most - bytes)
		return 0;
	snprintf(why, CONTROL_WHY, "the sessions with --last of user %u would keep %llu MiB in "
		 "memory, and may keep %llu MiB: see max-last in depd.conf(5)", d->self.uid,
		 (unsigned long long)((used + bytes) >> 20), (unsigned long long)(most >> 20));
	return -ENOMEM;
}

static int fill_in(struct session *s, const struct session_config *w)
{
	s->owner = w->owner;
	s->store = strdup(w->store ? w->store : "");
	s->command = strdup(w->argc ? w->argv[0] : "?");
	s->rule = strdup(w->rule ? w->rule : "");
	s->max_size = w->max_size;
	s->last_bytes = w->last_bytes;
	s->last_ns = w->last_ns;
	s->last_on_disk = w->last_on_disk;
	s->keep_if = w->keep_if;
	s->level = w->level;
	s->attached = w->attach;
	s->has_client = !w->rule && !w->attach;
	s->start_ns = loop_now();
	s->start_realtime_ns = realtime_ns();
	return s->store && s->command && s->rule ? 0 : -ENOMEM;
}

static int make_ring(struct session *s, const struct session_config *w, char *why)
{
	uint64_t give_up = s->d->config.give_up_ms * 1000000;
	uint32_t flags = w->flags & ~(uint32_t)ADEPT_S_MODULE;
	int ret = -ENOENT;

	/* A window has chunks of shared memory only. */
	if (w->transport != REQUEST_SHM && !(flags & ADEPT_S_NO_RECORD) && !w->last_bytes)
		ret = dep_session_create(&s->ring, flags | ADEPT_S_MODULE, w->ring_size, 0, 0,
					 give_up);
	if (ret && w->transport == REQUEST_KMOD)
		return refuse(ret, why, "/dev/adept cannot be used");
	if (ret && ret != -ENOENT)
		s->no_module = ret;
	if (ret)
		ret = dep_session_create(&s->ring, flags, w->ring_size, 0, 0, give_up);
	if (ret)
		return refuse(ret, why, "cannot create the rings in shared memory");
	if (w->last_bytes)
		dep_session_tell_removed(&s->ring);
	if (w->last_bytes && w->triggers)
		dep_session_watch(&s->ring, w->triggers);
	s->flags = s->ring.layout.flags;
	return 0;
}

static int make_target(struct session *s, const struct session_config *w, char *why)
{
	struct dep_why reason = { "" };
	int ret = dep_target_init(&s->target, s->ring.map, s->ring.fd, &reason);

	if (ret) {
		snprintf(why, CONTROL_WHY, "%s", reason.text);
		return ret;
	}
	s->target.base = w->base;
	if (s->ring.module)
		s->target.ring_fd = dep_module_writer(s->ring.module);
	return 0;
}

static int make_store(struct session *s, const struct session_config *w, struct dep_writer **writer,
		      char *why)
{
	struct dep_meta meta = {
		.argc = w->argc, .argv = w->argv, .cwd = w->cwd ? w->cwd : "?",
		.session_flags = s->flags,
		.chunk_size = s->ring.layout.chunk_size, .nchunks = s->ring.layout.nchunks,
		.max_size = w->max_size, .aslr = w->aslr,
		.start_ns = s->start_ns, .start_realtime_ns = s->start_realtime_ns,
		.shared = w->shared, .group = w->group,
	};
	int ret;

	*writer = NULL;
	if (!w->store)
		return 0;
	if (strlen(w->store) >= PATH_MAX) {
		snprintf(why, CONTROL_WHY, "the path of the store is too long");
		return -ENAMETOOLONG;
	}
	ret = dep_writer_create(writer, w->store, &meta, w->level);
	if (ret)
		snprintf(why, CONTROL_WHY, "cannot create the store %s: %s", w->store,
			 *dep_error() ? dep_error() : strerror(-ret));
	return ret;
}

struct dep_collect_setup session_setup(struct session *s, struct dep_exec_ops *ops)
{
	*ops = s->d->session_ops->exec_ops(s);
	return (struct dep_collect_setup){
		.max_size = s->max_size, .last_bytes = s->last_bytes, .last_ns = s->last_ns,
		.last_on_disk = s->last_on_disk,
		.last_memory = s->last_on_disk ? memory_of_last(s->last_bytes, true) : 0,
		.ops = ops, .pool = s->d->pool,
		.base = &s->target.base,
	};
}

static int make_collector(struct session *s, struct dep_writer *writer, char *why)
{
	struct dep_exec_ops ops;
	struct dep_collect_setup setup = session_setup(s, &ops);
	int ret;

	setup.w = writer;
	ret = dep_collector_create(&s->collector, &s->ring, &setup);
	if (ret && s->last_on_disk && *dep_error()) {
		snprintf(why, CONTROL_WHY, "cannot create the collector: %s", dep_error());
		return ret;
	}
	if (ret)
		return refuse(ret, why, "cannot create the collector");
	if (s->no_module)
		dep_collector_message(s->collector, "the kernel module is not used: %s",
				      strerror(-s->no_module));
	return 0;
}

static void module_ready(struct loop_watch *w, short revents)
{
	(void)revents;
	session_step((struct session *)((char *)w - offsetof(struct session, module_ready)));
}

int session_start(struct session *s)
{
	struct adept_session *map = s->ring.map;
	int ret = s->d->session_ops->trace(s);

	if (ret)
		return ret;
	dep_session_guard(&s->ring);
	/* A waiter thread always sleeps on the futex, so programs must always wake it. */
	__atomic_store_n(&map->collector_waits, 1, __ATOMIC_SEQ_CST);
	ret = wakeups_add(s->d->wakeups, &map->wakeup, s);
	if (ret < 0)
		return ret;
	s->wakeup = ret;
	if (s->ring.module) {
		s->module_ready.ready = module_ready;
		ret = loop_watch_add(s->d->loop, &s->module_ready, dep_module_fd(s->ring.module),
				     POLLIN);
		if (ret)
			return ret;
	}
	loop_timer_set(s->d->loop, &s->step, 0, 0);
	return 0;
}

/* Create the state file and put the session file into the fd store, so that a depd can adopt it. */
static int make_adoptable(struct session *s, char *why)
{
	int ret = file_create(&s->file, s);

	if (ret)
		return refuse(ret, why, "cannot create the state file");
	ret = session_files_put(s);
	return ret ? refuse(ret, why, "cannot put the session file into the fd store") : 0;
}

/* Record device and inode of the store: another directory could get the store's name later. */
static void note_store(struct session *s)
{
	struct stat st;

	if (*s->store && !lstat(s->store, &st)) {
		s->store_dev = st.st_dev;
		s->store_ino = st.st_ino;
	}
	file_update(s->file, s);
}

/* Remove the empty store of a session that could not be created. */
static void drop_store(struct session *s, struct dep_writer *writer)
{
	struct dep_store_dir made;
	int err;

	if (!writer)
		return;
	err = dep_writer_dir(writer, &made);
	dep_writer_discard(writer);
	if (!err)
		dep_store_remove_open(made.dirfd, s->store);
}

int session_begin(struct depd *d, const struct session_config *w, struct session **out, char *why)
{
	struct dep_writer *writer = NULL;
	struct session *s;
	int ret;

	ret = check_limits(d, why);
	if (!ret && w->last_bytes)
		ret = check_last(d, memory_of_last(w->last_bytes, w->last_on_disk), why);
	if (ret)
		return ret;
	s = session_new(d, d->front ? d->front->next_id(d, true) : ++d->last_id);
	if (!s)
		return refuse(-ENOMEM, why, "cannot create a session");
	ret = fill_in(s, w);
	if (!ret)
		ret = make_ring(s, w, why);
	if (!ret)
		ret = make_target(s, w, why);
	if (!ret && s->last_bytes)
		ret = snapshot_prepare(s, w);
	if (ret)
		goto fail;
	/* Create the state file before the store that it names: depd then knows every store. */
	ret = make_adoptable(s, why);
	if (ret)
		goto fail_keep;
	ret = make_store(s, w, &writer, why);
	if (ret)
		goto fail_keep;
	note_store(s);
	ret = make_collector(s, writer, why);
	if (!ret)
		ret = session_start(s);
	if (ret)
		goto fail_store;
	s->begun = true;
	file_update(s->file, s);
	d->begun++;
	log_msg(LOG_INFO, s->id, "recording started by user %u: %s%s%s", s->owner.uid, s->command,
		*s->rule ? ", rule " : "", s->rule);
	d->session_ops->begun(s);
	*out = s;
	return 0;

fail_store:
	if (s->collector)
		dep_collector_free(s->collector);
	s->collector = NULL;
	drop_store(s, writer);
fail_keep:
	session_forget_fd(s);
fail:
	session_free(s);
	return ret;
}

/* ---- state changes ---- */

void session_joined(struct session *s, const struct dep_base *base)
{
	s->target.base = *base;
	file_update(s->file, s);
}

void session_launched(struct session *s, pid_t pid, bool native, bool privileged,
		      const char *reason)
{
	/* A client that got no response repeats the request, which must have no effect. */
	if (s->launched)
		return;
	s->launched = true;
	s->native = native;
	s->pid = pid;
	if (native) {
		s->before.loss.native_images++;
		s->before.loss.native_privileged += privileged;
		dep_collector_message(s->collector, "%s runs unrecorded: %s", s->command,
				      reason ? reason : "");
	}
	file_update(s->file, s);
	session_step(s);
}

void session_set_exit(struct session *s, int status)
{
	if (s->exit_reported || s->state == SESSION_ENDED)
		return;
	s->exit_reported = true;
	s->status = status;
	file_update(s->file, s);
	session_step(s);
}

static void changed(struct session *s)
{
	if (s->d->control)
		control_session_changed(s->d->control, s->id);
}

void session_end(struct session *s, enum dep_close_cause cause, const char *error)
{
	if (s->state == SESSION_ENDING || s->state == SESSION_ENDED)
		return;
	if (error && !*s->error)
		snprintf(s->error, sizeof(s->error), "%s", error);
	s->state = SESSION_ENDING;
	s->cause = cause;
	s->ending_ns = loop_now();
	dep_collector_unfollow(s->collector);
	file_update(s->file, s);
	changed(s);
	loop_timer_set(s->d->loop, &s->step, 0, 0);
}

static void look_at_store(struct session *s, const struct dep_collect_status *st)
{
	if (!st->failed || s->warned_failed)
		return;
	s->warned_failed = true;
	snprintf(s->error, sizeof(s->error), "%s", st->error);
	log_msg(LOG_ERR, s->id, "nothing more is stored, the programs continue: %s", s->error);
	changed(s);
}

/* A full disk makes a window on the disk smaller. */
static void look_at_disk(struct session *s, const struct dep_collect_status *st)
{
	if (!s->last_on_disk || s->warned_full || st->last_limit >= s->last_bytes)
		return;
	s->warned_full = true;
	log_msg(LOG_WARNING, s->id, "the disk is full: at most %llu bytes are kept from now on",
		(unsigned long long)st->last_limit);
	changed(s);
}

/* True if all processes have ended and the exit status is known, or will not be known. */
static bool is_over(struct session *s, const struct dep_collect_status *st)
{
	if (!st->processes && !s->launched)
		return false;
	if (!dep_collector_idle(s->collector)) {
		s->idle_ns = 0;
		return false;
	}
	return (!s->has_client || s->exit_reported) && exit_status_ready(s);
}

static void look(struct session *s)
{
	struct dep_collect_status *st = &s->last;

	dep_collector_status(s->collector, st);
	look_at_store(s, st);
	look_at_disk(s, st);
	if (s->state == SESSION_OPEN && (st->processes || s->launched)) {
		s->state = SESSION_RECORDING;
		changed(s);
	}
	if (st->broken) {
		log_msg(LOG_WARNING, s->id, "recording ends: its programs wrote invalid data");
		session_end(s, DEP_CLOSE_CORRUPT, "its programs wrote invalid data");
	} else if (is_over(s, st)) {
		session_end(s, st->failed ? DEP_CLOSE_FAILED :
			       st->stopped ? DEP_CLOSE_MAX_SIZE : DEP_CLOSE_ENDED, NULL);
	}
}

void session_step(struct session *s)
{
	bool more = false;
	int n;

	if (s->state == SESSION_ENDED)
		return;
	if (s->state != SESSION_ENDING) {
		for (n = 0; n < STEPS && dep_collector_step(s->collector); n++)
			;
		more = n == STEPS;
		snapshot_step(s);
		look(s);
	}
	if (s->state == SESSION_ENDING)
		more = session_teardown_step(s);
	if (s->state == SESSION_ENDED)
		return;
	file_update(s->file, s);
	loop_timer_set(s->d->loop, &s->step, more ? 0 : STEP_NS, 0);
}
