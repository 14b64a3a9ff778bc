// SPDX-License-Identifier: GPL-2.0-or-later
/* A core of depd that records nothing. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "fake_core.h"

static void info(void *arg, struct depd_info *out)
{
	struct fake_core *f = arg;
	size_t i;

	*out = (struct depd_info){
		.version = "0.fake\"\\", .pid = getpid(), .start_realtime_ns = 1700000000123456789,
		.uptime_ns = 61000000000, .cpu_ns = 1500000001, .memory_bytes = 5 << 20,
		.sessions_begun = f->nsessions, .chunks = 10, .raw_bytes = 10 << 20,
		.stored_bytes = 1 << 20, .stage_ns = { 1, 2000000000, 3 },
		.stage_chunks = { 10, 9, 8 }, .queue_jobs = 1, .workers = 2,
		.workers_busy = 1, .loss.dropped_bytes = 4096, .loss.dropped_chunks = 1,
		.policy_error = "line 3: no such thing", .rules = 1, .policy_matches = 4,
	};
	for (i = 0; i < f->nsessions; i++)
		if (f->session[i].state != SESSION_ENDED)
			out->sessions_open++;
		else
			out->sessions_ended[f->session[i].cause]++;
	if (f->control) {
		out->clients = control_clients(f->control);
		control_requests(f->control, &out->requests, &out->requests_refused);
	}
}

static bool session(void *arg, size_t n, struct session_info *out)
{
	struct fake_core *f = arg;

	if (n >= f->nsessions)
		return false;
	*out = f->session[n];
	return true;
}

static struct session_info *find_session(struct fake_core *f, uint32_t id)
{
	return id && id <= f->nsessions ? &f->session[id - 1] : NULL;
}

static bool find(void *arg, uint32_t id, struct session_info *out)
{
	struct session_info *s = find_session(arg, id);

	if (s)
		*out = *s;
	return s;
}

uint32_t fake_core_session(struct fake_core *f, uid_t uid)
{
	struct session_info *s = &f->session[f->nsessions];

	if (f->nsessions == FAKE_SESSIONS)
		return 0;
	*s = (struct session_info){
		.id = ++f->nsessions, .uid = uid, .pid = 4711, .state = SESSION_RECORDING,
		.store = "/tmp/fake.dep", .command = f->command, .rule = "",
		.transport = "shm", .error = "", .start_realtime_ns = 1700000001000000000,
		.age_ns = 2500000000, .processes = 1, .threads = 2, .live_processes = 1,
		.chunks = 3, .raw_bytes = 3 << 20, .stored_bytes = 300000, .lag_chunks = 1,
		.lag_bytes = 1 << 20, .exit_status = -1,
	};
	return s->id;
}

void fake_core_change(struct fake_core *f, uint32_t id, enum session_state state,
		      enum dep_close_cause cause, const char *error)
{
	struct session_info *s = find_session(f, id);

	s->state = state;
	s->cause = cause;
	snprintf(f->error, sizeof(f->error), "%s", error);
	s->error = f->error;
	if (f->control)
		control_session_changed(f->control, id);
}

static struct session_info *own_session(struct fake_core *f, const struct peer *peer, uint32_t id,
					char *why)
{
	struct session_info *s = find_session(f, id);

	if (s && (!peer->uid || peer->uid == s->uid))
		return s;
	snprintf(why, CONTROL_WHY, "there is no session %u of yours", id);
	return NULL;
}

static int record(void *arg, const struct peer *peer, const struct request *r, uint32_t *id,
		  int fds[2], int *nfds, char *why)
{
	struct fake_core *f = arg;

	if (!strcmp(r->argv[0], "fail")) {
		snprintf(why, CONTROL_WHY, "made to fail");
		return -ENOSPC;
	}
	*id = fake_core_session(f, peer->uid);
	if (!*id) {
		snprintf(why, CONTROL_WHY, "there are too many sessions");
		return -EUSERS;
	}
	f->session[*id - 1].state = SESSION_OPEN;
	f->last_uid = peer->uid;
	f->last_flags = r->flags;
	snprintf(f->last_argv, sizeof(f->last_argv), "%s", r->argv[r->argc - 1]);
	snprintf(f->last_cwd, sizeof(f->last_cwd), "%s", r->cwd);
	snprintf(f->last_store, sizeof(f->last_store), "%s", r->store ? r->store : "");
	fds[0] = f->descriptor[0];
	fds[1] = f->descriptor[1];
	*nfds = strcmp(r->argv[0], "bad-descriptor") ? 2 : 1;
	if (*nfds == 1)
		fds[0] = 1000000;
	return 0;
}

static int follow(void *arg, const struct peer *peer, const struct request *r, int *fd, char *why)
{
	struct session_info *s = own_session(arg, peer, r->session, why);
	struct fake_core *f = arg;

	if (!s)
		return -ENOENT;
	*fd = dup(f->descriptor[0]);
	return *fd < 0 ? -errno : 0;
}

static int open_session(void *arg, const struct peer *peer, const struct request *r, uint32_t *id,
			int *fd, char *why)
{
	struct fake_core *f = arg;

	*id = r->session ? r->session : f->nsessions;
	if (!own_session(f, peer, *id, why))
		return -ENOENT;
	*fd = dup(f->descriptor[0]);
	return *fd < 0 ? -errno : 0;
}

static int launched(void *arg, const struct peer *peer, const struct request *r, char *why)
{
	struct session_info *s = own_session(arg, peer, r->session, why);
	struct fake_core *f = arg;

	if (!s)
		return -ENOENT;
	f->launched++;
	s->pid = r->pid;
	snprintf(f->last_why, sizeof(f->last_why), "%s", r->why ? r->why : "");
	fake_core_change(f, r->session, SESSION_RECORDING, DEP_CLOSE_UNKNOWN, "");
	return 0;
}

static int ended(void *arg, const struct peer *peer, const struct request *r, char *why)
{
	struct session_info *s = own_session(arg, peer, r->session, why);
	struct fake_core *f = arg;

	if (!s)
		return -ENOENT;
	f->ended++;
	f->last_status = r->status;
	s->exit_status = r->status;
	fake_core_change(f, r->session, SESSION_ENDED, DEP_CLOSE_ENDED, "");
	return 0;
}

static int stop(void *arg, const struct peer *peer, const struct request *r, char *why)
{
	struct session_info *s = own_session(arg, peer, r->session, why);

	if (!s)
		return -ENOENT;
	if (s->state == SESSION_ENDED) {
		snprintf(why, CONTROL_WHY, "session %u has ended already", s->id);
		return -EALREADY;
	}
	fake_core_change(arg, r->session, SESSION_ENDED, DEP_CLOSE_STOPPED, "");
	return 0;
}

static int reload(void *arg, const struct peer *peer, char *why)
{
	struct fake_core *f = arg;

	(void)peer;
	(void)why;
	f->reloads++;
	return 0;
}

/* The socket is not one: a descriptor of the fake session's file. */
static int snapshot(void *arg, const struct peer *peer, const struct request *r, int *fd,
		    const char **store, char *why)
{
	struct fake_core *f = arg;

	if (!own_session(f, peer, r->pid ? 1 : r->session, why))
		return -ENOENT;
	snprintf(f->last_store, sizeof(f->last_store), "%s", r->store ? r->store : "");
	*store = r->store ? r->store : "/tmp/fake.1.dep";
	*fd = dup(f->descriptor[0]);
	return *fd < 0 ? -errno : 0;
}

static int trigger(void *arg, const struct peer *peer, const struct request *r, char *why)
{
	struct fake_core *f = arg;

	if (!own_session(f, peer, r->session, why))
		return -ENOENT;
	snprintf(f->last_why, sizeof(f->last_why), "%s %llu", r->event,
		 (unsigned long long)r->count);
	return 0;
}

static char *policy_text(void *arg)
{
	(void)arg;
	return strdup("[{\"name\":\"all\"}]");
}

static void gone(void *arg, uint32_t id)
{
	struct fake_core *f = arg;

	f->gone++;
	f->last_gone = id;
	fake_core_change(f, id, SESSION_ENDED, DEP_CLOSE_ABANDONED, "");
}

struct control_ops fake_core_ops(struct fake_core *f)
{
	return (struct control_ops){
		.info = info, .session = session, .find = find, .record = record,
		.follow = follow, .open = open_session, .snapshot = snapshot,
		.trigger = trigger,
		.launched = launched, .ended = ended, .stop = stop, .reload = reload,
		.policy_text = policy_text, .gone = gone, .arg = f,
	};
}

void fake_core_init(struct fake_core *f)
{
	int i;

	memset(f, 0, sizeof(*f));
	strcpy(f->command, "prog \"a\\b\"\n\xff");
	for (i = 0; i < 2; i++) {
		f->descriptor[i] = memfd_create("fake", MFD_CLOEXEC);
		if (f->descriptor[i] < 0 ||
		    pwrite(f->descriptor[i], i ? "ring" : "file", 4, 0) != 4)
			abort();
	}
}

void fake_core_free(struct fake_core *f)
{
	close(f->descriptor[0]);
	close(f->descriptor[1]);
}

int fake_core_listen(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 512) ||
	    chmod(path, 0666))
		return -1;
	return fd;
}
