// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The operations behind the requests on the control socket (struct control_ops).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "libdep/collect/module_session.h"
#include "libdep/collect/write_queue.h"
#include "control_ops.h"
#include "reload.h"
#include "daemon/pending/exec_watch.h"
#include "daemon/sessions/session.h"
#include "daemon/sessions/snapshot.h"

static void add_open_sessions(struct depd *d, struct depd_info *out)
{
	struct session_info i;
	struct session *s;

	for (s = d->sessions; s; s = s->next) {
		if (s->state == SESSION_ENDED)
			continue;
		session_info(s, &i);
		out->sessions_open++;
		out->chunks += i.chunks;
		out->raw_bytes += i.raw_bytes;
		out->stored_bytes += i.stored_bytes;
		dep_loss_add(&out->loss, &i.loss);
	}
}

static uint64_t cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000ull +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000ull;
}

static uint64_t memory_bytes(void)
{
	unsigned long long size, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f)
		return 0;
	if (fscanf(f, "%llu %llu", &size, &resident) != 2)
		resident = 0;
	fclose(f);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

void depd_own_info(struct depd *d, struct depd_info *out)
{
	struct dep_pool_stats pool;

	dep_pool_stats(d->pool, &pool);
	*out = (struct depd_info){
		.version = ADEPT_VERSION, .pid = getpid(),
		.start_realtime_ns = d->start_realtime_ns,
		.uptime_ns = loop_now() - d->start_ns,
		.cpu_ns = cpu_ns(), .memory_bytes = memory_bytes(),
		.sessions_begun = d->begun, .sessions_adopted = d->adopted,
		.chunks = d->chunks, .raw_bytes = d->raw_bytes, .stored_bytes = d->stored_bytes,
		.queue_jobs = pool.jobs, .workers = pool.workers, .workers_busy = pool.busy,
		.loss = d->loss,
		.clients = d->control ? control_clients(d->control) : 0,
		.policy_active = d->watch, .policy_error = d->policy_error,
		.rules = d->config.nrules,
		.policy_matches = d->matches,
		.policy_missed = d->missed + (d->watch ? exec_watch_missed(d->watch) : 0),
		.stores_removed = d->removed, .stores_removed_bytes = d->removed_bytes,
	};
	memcpy(out->sessions_ended, d->ended, sizeof(out->sessions_ended));
	memcpy(out->stage_ns, pool.stage_ns, sizeof(out->stage_ns));
	memcpy(out->stage_chunks, pool.stage_chunks, sizeof(out->stage_chunks));
	if (d->control)
		control_requests(d->control, &out->requests, &out->requests_refused);
	add_open_sessions(d, out);
}

static void info(void *arg, struct depd_info *out)
{
	struct depd *d = arg;

	depd_own_info(d, out);
	if (d->front)
		d->front->info(d, out);
}

static bool nth_session(void *arg, size_t n, struct session_info *out)
{
	struct depd *d = arg;
	struct session *s;

	for (s = d->sessions; s; s = s->next)
		if (s->state != SESSION_ENDED && !n--)
			break;
	if (!s)
		return false;
	session_info(s, out);
	return true;
}

static bool find(void *arg, uint32_t id, struct session_info *out)
{
	struct session *s = session_find(arg, id);

	if (!s)
		return false;
	session_info(s, out);
	return true;
}

static struct session *own_session(struct depd *d, const struct peer *peer, uint32_t id, char *why)
{
	struct session *s = session_find(d, id);

	if (s && (!peer->uid || peer->uid == s->owner.uid))
		return s;
	snprintf(why, CONTROL_WHY, "there is no session %u of yours", id);
	return NULL;
}

static void user_of(const struct peer *peer, struct user *u)
{
	u->uid = peer->uid;
	u->gid = peer->gid;
	u->ngroups = peer->ngroups < USER_GROUPS_MAX ? peer->ngroups : USER_GROUPS_MAX;
	memcpy(u->groups, peer->groups, (size_t)u->ngroups * sizeof(u->groups[0]));
}

/* True if @peer is in @group, or is root: it has permission to share its store with the group. */
static bool is_member(const struct peer *peer, gid_t group)
{
	int i;

	for (i = 0; i < peer->ngroups && peer->groups[i] != group; i++)
		;
	return !peer->uid || peer->gid == group || i < peer->ngroups;
}

/* True if the client is in depd's pid namespace, so that the pids it sends are valid here. */
static bool in_our_pid_namespace(const struct peer *peer)
{
	char path[64], line[256];
	int pid, next, n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", peer->pid);
	f = peer->pid ? fopen(path, "re") : NULL;
	if (!f)
		return false;
	while (!n && fgets(line, sizeof(line), f))
		n = sscanf(line, "NSpid: %d %d", &pid, &next);
	fclose(f);
	return n == 1 && pid == peer->pid;
}

static int record(void *arg, const struct peer *peer, const struct request *r, uint32_t *id,
		  int fds[2], int *nfds, char *why)
{
	struct depd *d = arg;
	struct session_config w = {
		.argv = r->argv, .argc = r->argc, .cwd = r->cwd, .store = r->store,
		.flags = r->flags, .ring_size = r->ring_size, .max_size = r->max_size,
		.last_bytes = r->last_bytes, .last_ns = r->last_ns,
		.last_on_disk = r->last_on_disk,
		.triggers = &r->triggers, .snapshots = r->snapshots, .keep_if = r->keep_if,
		.level = r->level, .aslr = r->aslr, .attach = r->attach,
		.transport = r->transport,
		.shared = r->shared, .group = r->group,
	};
	struct dep_why reason = { "" };
	struct session *s;
	int ret;

	user_of(peer, &w.owner);
	/* A depd that does not run as root has only its own user's permissions. */
	if (d->self.uid && peer->uid != d->self.uid) {
		snprintf(why, CONTROL_WHY, "this depd belongs to user %u and records for no other "
			 "user", d->self.uid);
		return -EPERM;
	}
	if (!in_our_pid_namespace(peer)) {
		snprintf(why, CONTROL_WHY, "this depd is in another pid namespace than depctl");
		return -EXDEV;
	}
	if (r->shared && !is_member(peer, r->group)) {
		snprintf(why, CONTROL_WHY, "user %u cannot share a store with group %u: not a "
			 "member, or in more than %d groups", peer->uid, r->group, PEER_GROUPS_MAX);
		return -EPERM;
	}
	ret = dep_base_peer(&w.base, &(struct dep_peer){ peer->pid, peer->uid, peer->gid,
							   peer->pidfd }, &reason);
	if (ret) {
		snprintf(why, CONTROL_WHY, "depctl is not permitted to record: %s", reason.text);
		return ret;
	}
	ret = session_begin(d, &w, &s, why);
	if (ret)
		return ret;
	*id = s->id;
	fds[0] = s->ring.fd;
	*nfds = 1;
	if (s->ring.module)
		fds[(*nfds)++] = dep_module_writer(s->ring.module);
	return 0;
}

/* Open the session file, so that the client can read data in the rings that is not stored yet. */
static int follow(void *arg, const struct peer *peer, const struct request *r, int *fd, char *why)
{
	struct session *s = own_session(arg, peer, r->session, why);
	char path[64];

	if (!s)
		return -ENOENT;
	if (s->state == SESSION_ENDED) {
		snprintf(why, CONTROL_WHY, "session %u has ended; its store is complete", s->id);
		return -EALREADY;
	}
	/* Reopen the file read-only: the client must not be able to write it or map it writable. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->ring.fd);
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	return *fd < 0 ? -errno : 0;
}

static struct session *session_of_process(struct depd *d, const struct peer *peer, pid_t pid,
					  char *why)
{
	struct session *s;

	for (s = d->sessions; s; s = s->next)
		if ((!peer->uid || peer->uid == s->owner.uid) && s->collector &&
		    dep_collector_records(s->collector, pid))
			return s;
	snprintf(why, CONTROL_WHY, "process %d is in no session of yours", pid);
	return NULL;
}

/*
 * A process that can write the session file controls the session's processes.  So the client must
 * have all privileges that they have, and not only the same user.
 */
static int check_control(const struct session *s, const struct peer *peer, char *why)
{
	struct dep_why reason = { "its privileges differ from those of the session" };
	struct dep_base base;
	int ret;

	ret = dep_base_peer(&base, &(struct dep_peer){ peer->pid, peer->uid, peer->gid,
							 peer->pidfd }, &reason);
	if (!ret && dep_base_covers(&base, &s->target.base))
		return 0;
	snprintf(why, CONTROL_WHY, "depctl is not permitted to control session %u: %.300s", s->id,
		 reason.text);
	return ret ? ret : -EPERM;
}

/* Find the session of @r, which @peer has all rights to control.  Return: 0 or a negative errno. */
static int session_to_control(struct depd *d, const struct peer *peer, const struct request *r,
			      struct session **out, char *why)
{
	struct session *s;

	if (!in_our_pid_namespace(peer)) {
		snprintf(why, CONTROL_WHY, "this depd is in another pid namespace than depctl");
		return -EXDEV;
	}
	s = r->pid ? session_of_process(d, peer, r->pid, why) :
		     own_session(d, peer, r->session, why);
	if (!s)
		return -ENOENT;
	if (s->state == SESSION_ENDED) {
		snprintf(why, CONTROL_WHY, "session %u has ended", s->id);
		return -EALREADY;
	}
	*out = s;
	return check_control(s, peer, why);
}

static int open_session(void *arg, const struct peer *peer, const struct request *r, uint32_t *id,
			int *fd, char *why)
{
	struct session *s;
	int ret = session_to_control(arg, peer, r, &s, why);

	if (ret)
		return ret;
	*id = s->id;
	*fd = fcntl(s->ring.fd, F_DUPFD_CLOEXEC, 3);
	return *fd < 0 ? -errno : 0;
}

/* Of a session that the client may control: its store has the memory of the session's processes. */
static int snapshot(void *arg, const struct peer *peer, const struct request *r, int *fd,
		    const char **store, char *why)
{
	struct session *s;
	int ret = session_to_control(arg, peer, r, &s, why);

	return ret ? ret : snapshot_ask(s, r->store, fd, store, why);
}

/* What a client with the rights to ask for a snapshot has counted. */
static int trigger(void *arg, const struct peer *peer, const struct request *r, char *why)
{
	struct dep_kept kept = { .reason = DEP_KEEP_PERF, .value = r->count };
	struct session *s;
	int ret = session_to_control(arg, peer, r, &s, why);

	if (ret)
		return ret;
	snprintf(kept.what, sizeof(kept.what), "%s", r->event);
	return snapshot_trigger(s, &kept, why);
}

static int launched(void *arg, const struct peer *peer, const struct request *r, char *why)
{
	struct session *s = own_session(arg, peer, r->session, why);

	if (!s)
		return -ENOENT;
	if (s->attached && !s->launched) {
		s->stop_ns = r->stop_ns;
		s->stop_threads = r->threads;
	}
	session_launched(s, r->pid, r->native, r->privileged, r->why);
	return 0;
}

static int ended(void *arg, const struct peer *peer, const struct request *r, char *why)
{
	struct session *s = own_session(arg, peer, r->session, why);

	if (!s)
		return -ENOENT;
	session_set_exit(s, r->status);
	return 0;
}

static int stop(void *arg, const struct peer *peer, const struct request *r, char *why)
{
	struct session *s = own_session(arg, peer, r->session, why);

	if (!s)
		return -ENOENT;
	session_end(s, s->state == SESSION_OPEN ? DEP_CLOSE_ABANDONED : DEP_CLOSE_STOPPED, NULL);
	return 0;
}

static int reload(void *arg, const struct peer *peer, char *why)
{
	struct depd *d = arg;

	(void)peer;
	return d->front ? d->front->reload(d, why) : depd_reload(d, why);
}

static char *policy_text(void *arg)
{
	struct depd *d = arg;

	return d->front ? d->front->rules_text(d) : policy_describe(&d->config);
}

static bool account(void *arg, size_t n, struct account_info *out)
{
	struct depd *d = arg;

	return d->front && d->front->account(d, n, out);
}

/*
 * The client of session @id has disconnected.  End the session if no process has run in it;
 * otherwise it ends with its processes.
 */
static void gone(void *arg, uint32_t id)
{
	struct depd *d = arg;
	struct session *s = session_find(d, id);

	if (!s || d->shutting_down)
		return;
	if (s->state == SESSION_OPEN)
		session_end(s, DEP_CLOSE_ABANDONED, NULL);
	else
		session_set_exit(s, -1);
}

struct control_ops ops_of(struct depd *d)
{
	return (struct control_ops){
		.info = info, .session = nth_session, .account = account,
		.find = find, .record = record,
		.follow = follow, .open = open_session, .snapshot = snapshot,
		.trigger = trigger,
		.launched = launched, .ended = ended, .stop = stop, .reload = reload,
		.policy_text = policy_text, .gone = gone, .arg = d,
	};
}
