// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules: the front matches new processes; the instance (depd process) with a process's own
 * credentials attaches to it and records it.
 *
 * The front resumes a pending process (stopped at exec) if its instance has answered nothing for
 * FRONT_ATTACH_NS, and after FRONT_PENDING_NS in any case.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/base/sd_notify.h"
#include "daemon/base/log.h"
#include "front.h"

/* Limit of the time a process stays stopped; must be less than the watchdog's timeout, 10 s. */
#define FRONT_PENDING_NS	8000000000ull
#define LOOK_NS		100000000ull
#define SENT_MAX	8u		/* limit of unanswered requests to one instance */
#define ATTACHES_MAX	1024u		/* limit of processes stopped at exec, of all instances */

/** struct attach - request to an instance to record a process stopped at exec; queued or sent */
struct attach {
	struct attach *next;
	struct instance *i;
	struct link_attach request;
	uint64_t rule;
	int pidfd;
	bool sent;
	uint64_t since_ns, heard_ns;
};

/* Log a process that runs unrecorded.  Above a user's rate limit, only count it. */
static void missed(struct front *f, uid_t uid, pid_t pid, const char *name, const char *why)
{
	struct account *a = account_of(f->accounts, uid);

	f->missed++;
	if (!a || !account_rate(a, RATE_MISSED, 1, loop_now())) {
		f->unsaid++;
		return;
	}
	log_msg(LOG_WARNING, 0, "process %d (%s) runs unrecorded: %s", pid, name, why);
	report_pages(f);
}

void front_policy_second(struct front *f)
{
	if (f->unsaid)
		log_msg(LOG_WARNING, 0,
			"%llu more processes run unrecorded, too many to log each",
			(unsigned long long)f->unsaid);
	f->unsaid = 0;
}

/* ---- requests to instances ---- */

static void drop(struct front *f, struct attach *t)
{
	struct attach **at = &f->attaches;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	t->i->nattaches--;
	account_put(t->i->account, ACCOUNT_USED, 1);
	close(t->pidfd);
	free(t);
}

static void release(struct front *f, struct attach *t, const char *why)
{
	if (why)
		missed(f, t->request.uid, t->request.pid, t->request.comm, why);
	if (f->watch)
		exec_watch_release(f->watch, t->request.pid);
	drop(f, t);
}

/* Send requests to the instance, at most SENT_MAX unanswered; others wait, with a timeout. */
static void send_some(struct instance *i)
{
	static struct link_msg m;
	struct attach *t;
	uint32_t sent = 0;

	for (t = i->front->attaches; t; t = t->next)
		sent += t->i == i && t->sent;
	if (i->state != INSTANCE_RUNNING)
		return;
	m.op = LINK_ATTACH;
	for (t = i->front->attaches; t && sent < SENT_MAX; t = t->next) {
		if (t->i != i || t->sent)
			continue;
		m.attach = t->request;
		if (link_send(i->sock, &m, &t->pidfd, 1))
			return;
		t->sent = true;
		sent++;
	}
}

static void late_due(struct loop_timer *timer)
{
	struct front *f = (struct front *)((char *)timer - offsetof(struct front, late));
	uint64_t now = loop_now();
	struct attach *t, *next;

	for (t = f->attaches; t; t = next) {
		next = t->next;
		if (now - t->since_ns > FRONT_PENDING_NS || now - t->heard_ns > FRONT_ATTACH_NS)
			release(f, t, "its user's instance of depd did not attach in time");
		else
			send_some(t->i);
	}
	if (!f->attaches)
		loop_timer_cancel(f->loop, timer);
}

void front_attached(struct instance *i, const struct link_result *r)
{
	struct front *f = i->front;
	uint64_t now = loop_now();
	struct attach *t, *found = NULL;
	char why[CONTROL_WHY];

	for (t = f->attaches; t; t = t->next) {
		if (t->i != i)
			continue;
		t->heard_ns = now;
		if (t->sent && t->request.seq == r->seq)
			found = t;
	}
	if (!found)
		return;
	if (!r->result) {
		f->matches++;
		i->attached++;
		if (f->watch)
			exec_watch_attached(f->watch, found->request.pid);
		drop(f, found);
	} else {
		snprintf(why, sizeof(why), "%.*s", (int)sizeof(r->why) - 1, r->why);
		for (char *c = why; *c; c++)
			if ((unsigned char)*c < 0x20 || *c == 0x7f)
				*c = '?';
		release(f, found, r->result == -ESRCH ? NULL : why);
	}
	send_some(i);
	report_pages(f);
}

void front_attaches_lost(struct instance *i)
{
	struct attach *t, *next;

	for (t = i->front->attaches; t; t = next) {
		next = t->next;
		if (t->i == i)
			release(i->front, t, "its user's instance of depd has ended");
	}
}

/* ---- credentials of a process ---- */

static int by_number(const void *a, const void *b)
{
	gid_t x = *(const gid_t *)a, y = *(const gid_t *)b;

	return (x > y) - (x < y);
}

/* Parse a line of numbers.  Return: how many there are; -1: more than @max. */
static int numbers(const char *s, unsigned int *v, int max)
{
	int n = 0, used;

	for (; n < max && sscanf(s, " %u%n", &v[n], &used) == 1; n++)
		s += used;
	return sscanf(s, " %u", &(unsigned int){ 0 }) == 1 ? -1 : n;
}

static bool all_same(const unsigned int v[4])
{
	return v[0] == v[1] && v[0] == v[2] && v[0] == v[3];
}

/* Read a process's credentials.  -EPERM: uids or gids differ, the process has no single user. */
static int who_is(pid_t pid, struct user *u)
{
	unsigned int uid[4], gid[4];
	bool uids = false, gids = false;
	char path[32], *line = NULL;
	size_t room = 0;
	FILE *f;

	*u = (struct user){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	if (!f)
		return -ESRCH;
	while (getline(&line, &room, f) > 0) {
		if (!strncmp(line, "Uid:", 4))
			uids = numbers(line + 4, uid, 4) == 4 && all_same(uid);
		else if (!strncmp(line, "Gid:", 4))
			gids = numbers(line + 4, gid, 4) == 4 && all_same(gid);
		else if (!strncmp(line, "Groups:", 7))
			u->ngroups = numbers(line + 7, u->groups, USER_GROUPS_MAX);
	}
	free(line);
	fclose(f);
	if (!uids || !gids)
		return -EPERM;
	u->uid = uid[0];
	u->gid = gid[0];
	if (u->ngroups < 0)
		u->ngroups = 0;
	qsort(u->groups, (size_t)u->ngroups, sizeof(u->groups[0]), by_number);
	return 0;
}

/*
 * Get the number of open sessions that an instance reports for rule @k of its report.  The number
 * of a user's instance is limited to what it has attached: a larger one could block other users.
 */
static uint64_t open_at(const struct instance *i, uint32_t k)
{
	uint64_t n = i->report.rule[k].open;

	return i->user.uid && n > i->attached ? i->attached : n;
}

static uint64_t of_rule(const struct front *f, uint64_t name)
{
	const struct instance *i;
	const struct attach *t;
	uint64_t n = 0;
	uint32_t k;

	for (i = f->instances; i; i = i->next)
		for (k = 0; k < i->report.nrules; k++)
			if (i->report.rule[k].name == name)
				n += open_at(i, k);
	for (t = f->attaches; t; t = t->next)
		n += t->rule == name;
	return n;
}

/* Check the rule's `every` (record each n-th match) and its limit of simultaneous sessions. */
static bool may_attach_next(struct front *f, int i)
{
	const struct policy_rule *r = &f->config.rule[i];

	if (f->rule_seen[i]++ % (r->every ? r->every : 1))
		return false;
	return !r->at_once || of_rule(f, link_rule_name(r->name)) < r->at_once;
}

static int ask(struct front *f, const struct pending_exec *e, const struct policy_rule *r,
	       const struct user *u, int pidfd, char *why)
{
	const char *store = r->store ? r->store : f->config.store;
	struct attach *t, **last = &f->attaches;
	struct instance *i;
	uint32_t n = 0;
	int ret;

	for (; *last; last = &(*last)->next)
		n++;
	t = n < ATTACHES_MAX ? calloc(1, sizeof(*t)) : NULL;
	if (!t) {
		snprintf(why, CONTROL_WHY, "too many processes are pending");
		return -EAGAIN;
	}
	ret = dir_store(store, u, t->request.store, sizeof(t->request.store));
	if (ret) {
		snprintf(why, CONTROL_WHY, "cannot use %s/%u as the directory of its user's "
			 "stores: %s", store, u->uid, strerror(-ret));
		goto fail;
	}
	ret = instance_get(f, u, &i);
	if (ret) {
		snprintf(why, CONTROL_WHY, "cannot start an instance of depd for its user: %s",
			 strerror(-ret));
		goto fail;
	}
	/* Limit the pending processes of each user, so that no user can take up ATTACHES_MAX. */
	ret = account_get(i->account, ACCOUNT_USED, 1);
	if (ret) {
		snprintf(why, CONTROL_WHY, "too many processes of its user are pending");
		goto fail;
	}
	t->request.seq = ++f->last_attach;
	t->request.pid = e->pid;
	t->request.uid = e->p.uid;
	t->request.start_ns = e->start_ns;
	t->request.flags = r->flags;
	t->request.level = r->level;
	t->request.ring_size = r->ring_size;
	t->request.max_size = r->max_size;
	t->request.last_bytes = r->last_bytes;
	t->request.last_ns = r->last_ns;
	t->request.last_on_disk = r->last_on_disk;
	t->request.keep_if = r->keep_if;
	t->request.transport = r->transport;
	t->request.shared = r->shared;
	t->request.group = r->group;
	snprintf(t->request.rule, sizeof(t->request.rule), "%s", r->name);
	snprintf(t->request.comm, sizeof(t->request.comm), "%s", e->p.comm);
	snprintf(t->request.path, sizeof(t->request.path), "%s", e->p.path);
	t->rule = link_rule_name(r->name);
	t->pidfd = pidfd;
	t->i = i;
	t->since_ns = loop_now();
	t->heard_ns = t->since_ns;
	*last = t;
	i->nattaches++;
	if (!f->late.armed)
		loop_timer_set(f->loop, &f->late, LOOK_NS, LOOK_NS);
	send_some(i);
	return 0;
fail:
	free(t);
	return ret;
}

static int attach(struct front *f, const struct pending_exec *e, const struct policy_rule *r,
		  char *why)
{
	int pidfd = (int)syscall(SYS_pidfd_open, e->pid, 0), ret;
	struct user u;

	if (pidfd < 0)
		return -ESRCH;
	ret = who_is(e->pid, &u);
	/* The process must still exist: else the credentials may be of a later owner of the pid. */
	if (!ret && syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0))
		ret = -ESRCH;
	if (ret == -EPERM)
		snprintf(why, CONTROL_WHY, "its real, effective and saved ids differ");
	if (!ret)
		ret = ask(f, e, r, &u, pidfd, why);
	if (ret)
		close(pidfd);
	return ret;
}

/* ---- events of the kernel ---- */

static void exec(void *arg, const struct pending_exec *e)
{
	struct front *f = arg;
	char why[CONTROL_WHY] = "";
	int i = policy_match(&f->config, &e->p);
	int ret = -ENOENT;

	/* One read can deliver hundreds of processes: systemd's watchdog must not expire. */
	notify_alive();
	/* Processes of depd itself, such as instances and tracers, are never recorded. */
	if (i >= 0 && strcmp(e->p.exe, f->exe) && may_attach_next(f, i)) {
		ret = attach(f, e, &f->config.rule[i], why);
		if (ret && ret != -ESRCH)
			missed(f, e->p.uid, e->pid, e->p.comm, why);
	}
	if (ret)
		exec_watch_release(f->watch, e->pid);
}

static void events(struct loop_watch *w, short revents)
{
	struct front *f = (struct front *)((char *)w - offsetof(struct front, policy_ready));

	(void)revents;
	exec_watch_read(f->watch, exec, f);
}

void front_policy_start(struct front *f)
{
	int ret;

	*f->policy_error = '\0';
	f->late.due = late_due;
	if (!f->config.nrules)
		return;
	ret = exec_watch_open(&f->watch, f->policy_error, sizeof(f->policy_error));
	if (ret) {
		f->watch = NULL;
		log_msg(LOG_ERR, 0, "rules have no effect: %s", f->policy_error);
		return;
	}
	f->rule_seen = calloc(f->config.nrules, sizeof(*f->rule_seen));
	ret = f->rule_seen ? exec_watch_rules(f->watch, &f->config) : -ENOMEM;
	f->policy_ready.ready = events;
	if (!ret)
		ret = loop_watch_add(f->loop, &f->policy_ready, exec_watch_fd(f->watch), POLLIN);
	if (!ret)
		return;
	snprintf(f->policy_error, sizeof(f->policy_error), "cannot activate the rules: %s",
		 strerror(-ret));
	log_msg(LOG_ERR, 0, "%s", f->policy_error);
	front_policy_stop(f);
}

void front_policy_stop(struct front *f)
{
	while (f->attaches)
		release(f, f->attaches, "depd is reloading its rules or shutting down");
	loop_timer_cancel(f->loop, &f->late);
	if (f->watch) {
		loop_remove(f->loop, &f->policy_ready);
		exec_watch_close(f->watch);
	}
	f->watch = NULL;
	free(f->rule_seen);
	f->rule_seen = NULL;
}
