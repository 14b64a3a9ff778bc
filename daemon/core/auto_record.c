// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recording by rules: create a session for a process that a rule matches and that is stopped at
 * exec.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "auto_record.h"
#include "daemon/pending/exec_watch.h"
#include "daemon/base/sd_notify.h"
#include "daemon/base/log.h"
#include "daemon/injector/tracer.h"
#include "daemon/sessions/exit_status.h"

/* Make the path DIR/RULE-COMM-PID-ID.dep; '_' replaces slashes, blanks and non-ASCII in COMM. */
static void name_store(const struct rules_config *w, uint32_t id, char *path, size_t size)
{
	char comm[32], *p;

	snprintf(comm, sizeof(comm), "%s", w->comm);
	for (p = comm; *p; p++)
		if (*p <= ' ' || *p == '/' || *p >= 127)
			*p = '_';
	snprintf(path, size, "%s/%s-%s-%d-%u.dep", w->dir, w->rule, comm, w->pid, id);
}

static uint32_t of_rule(struct depd *d, const char *name)
{
	struct session *s;
	uint32_t n = 0;

	for (s = d->sessions; s; s = s->next)
		n += s->state != SESSION_ENDED && !strcmp(s->rule, name);
	return n;
}

/* Check the rule's `every` (record each n-th match) and its limit of simultaneous sessions. */
static bool may_attach_next(struct depd *d, int i)
{
	const struct policy_rule *r = &d->config.rule[i];

	if (d->rule_seen[i]++ % (r->every ? r->every : 1))
		return false;
	return !r->at_once || of_rule(d, r->name) < r->at_once;
}

int rules_attach(struct depd *d, const struct rules_config *r, char *why)
{
	const struct dep_pending who = {
		.pid = r->pid, .has_uid = true, .uid = r->uid, .start_ns = r->start_ns,
	};
	char path[PATH_MAX], *argv[] = { (char *)r->path, NULL };
	struct session_config w = {
		.owner = d->self, .argv = argv, .argc = 1, .rule = r->rule, .store = path,
		.flags = r->flags, .ring_size = r->ring_size, .max_size = r->max_size,
		.last_bytes = r->last_bytes, .last_ns = r->last_ns,
		.last_on_disk = r->last_on_disk, .keep_if = r->keep_if,
		.level = r->level, .aslr = true, .transport = r->transport,
		.shared = r->shared, .group = r->group,
	};
	struct session *s;
	int ret;

	/* The front created the directory with mode 0700; the group needs search permission. */
	if (d->front && r->shared && chmod(r->dir, 0711)) {
		ret = -errno;
		snprintf(why, CONTROL_WHY, "cannot give the group access to %s: %s", r->dir,
			 strerror(-ret));
		return ret;
	}
	name_store(r, session_next_id(d), path, sizeof(path));
	ret = session_begin(d, &w, &s, why);
	if (ret)
		return ret;
	exit_status_watch(s, r->pid);
	ret = tracer_attach(s, &who);
	if (ret) {
		snprintf(why, CONTROL_WHY, "%s", strerror(-ret));
		session_end(s, DEP_CLOSE_ABANDONED, why);
		return ret;
	}
	s->attach_seq = r->seq;
	return 0;
}

static void missed(struct depd *d, pid_t pid, const char *name, const char *why)
{
	d->missed++;
	log_msg(LOG_WARNING, 0, "process %d (%s) runs unrecorded: %s", pid, name, why);
}

void rules_attached(struct session *s, int ret, const char *why)
{
	struct depd *d = s->d;
	pid_t pid = s->attaching;

	s->attaching = 0;
	/* The tracer has ended; the session file shows whether it had attached the process. */
	if (ret == -EPIPE) {
		session_step(s);
		ret = s->state == SESSION_RECORDING ? 0 : ret;
	}
	if (d->front)
		d->front->attached(s, ret, why);
	if (ret) {
		session_end(s, DEP_CLOSE_ABANDONED, why);
		if (ret != -ESRCH && !d->front)
			missed(d, pid, s->command, why);
		if (d->watch)
			exec_watch_release(d->watch, pid);
		return;
	}
	d->matches += !d->front;
	if (d->watch)
		exec_watch_attached(d->watch, pid);
	if (s->state == SESSION_OPEN || s->state == SESSION_RECORDING)
		session_launched(s, pid, false, false, NULL);
}

static int attach(struct depd *d, const struct pending_exec *e, const struct policy_rule *r,
		  char *why)
{
	struct rules_config w = {
		.pid = e->pid, .uid = e->p.uid, .start_ns = e->start_ns,
		.rule = r->name, .comm = e->p.comm, .path = e->p.path,
		.dir = r->store ? r->store : d->config.store, .flags = r->flags,
		.ring_size = r->ring_size, .max_size = r->max_size,
		.last_bytes = r->last_bytes, .last_ns = r->last_ns,
		.last_on_disk = r->last_on_disk, .keep_if = r->keep_if, .level = r->level,
		.transport = r->transport, .shared = r->shared, .group = r->group,
	};

	return rules_attach(d, &w, why);
}

static void exec(void *arg, const struct pending_exec *e)
{
	struct depd *d = arg;
	char why[CONTROL_WHY] = "";
	int i = policy_match(&d->config, &e->p);
	int ret = -ENOENT;

	/* One read can deliver hundreds of processes: systemd's watchdog must not expire. */
	notify_alive();
	/* The tracer cannot attach to itself. */
	if (i >= 0 && e->pid != tracer_pid(d) && may_attach_next(d, i)) {
		ret = attach(d, e, &d->config.rule[i], why);
		if (ret)
			missed(d, e->pid, e->p.comm, why);
	}
	if (ret)
		exec_watch_release(d->watch, e->pid);
}

static void events(struct loop_watch *w, short revents)
{
	struct depd *d = (struct depd *)((char *)w - offsetof(struct depd, policy_ready));

	(void)revents;
	exec_watch_read(d->watch, exec, d);
}

/* Warn if the rule's group has no execute permission on the directory of its stores. */
static void check_folder(const char *dir, const struct policy_rule *r)
{
	struct stat st;

	if (stat(dir, &st) || st.st_mode & S_IXOTH ||
	    (st.st_gid == r->group && st.st_mode & S_IXGRP))
		return;
	log_msg(LOG_WARNING, 0, "rule %s shares its stores with group %u, but %s has mode %o and "
		"group %u: the group cannot enter it", r->name, r->group, dir, st.st_mode & 07777,
		st.st_gid);
}

static void make_folder(const struct depd *d, bool shared)
{
	/* 0711: others can open a store by its name, but cannot list the directory. */
	const mode_t mode = shared ? 0711 : 0700;

	if (!mkdir(d->config.store, mode)) {
		if (!shared || !chmod(d->config.store, mode))
			return;
	} else if (errno == EEXIST) {
		return;
	}
	log_msg(LOG_WARNING, 0,
		"cannot create %s: %m; rules that do not name another directory will fail",
		d->config.store);
}

void rules_folders(struct depd *d)
{
	const struct policy_rule *r = d->config.rule, *end = r + d->config.nrules;
	bool shared = false;

	for (; r < end; r++)
		shared |= r->shared && !r->store;
	if (d->config.store)
		make_folder(d, shared);
	for (r = d->config.rule; r < end; r++)
		if (r->shared)
			check_folder(r->store ? r->store : d->config.store, r);
}

void policy_start(struct depd *d)
{
	int ret;

	*d->policy_error = '\0';
	if (!d->config.nrules)
		return;
	ret = exec_watch_open(&d->watch, d->policy_error, sizeof(d->policy_error));
	if (ret) {
		d->watch = NULL;
		log_msg(LOG_ERR, 0, "rules have no effect: %s", d->policy_error);
		return;
	}
	d->rule_seen = calloc(d->config.nrules, sizeof(*d->rule_seen));
	ret = d->rule_seen ? exec_watch_rules(d->watch, &d->config) : -ENOMEM;
	d->policy_ready.ready = events;
	if (!ret)
		ret = loop_watch_add(d->loop, &d->policy_ready, exec_watch_fd(d->watch), POLLIN);
	if (!ret)
		return;
	snprintf(d->policy_error, sizeof(d->policy_error), "cannot activate the rules: %s",
		 strerror(-ret));
	log_msg(LOG_ERR, 0, "%s", d->policy_error);
	policy_stop(d);
}

void policy_stop(struct depd *d)
{
	if (d->watch) {
		loop_remove(d->loop, &d->policy_ready);
		exec_watch_close(d->watch);
	}
	d->watch = NULL;
	free(d->rule_seen);
	d->rule_seen = NULL;
}
