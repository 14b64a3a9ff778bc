// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Policy: processes that begin by themselves, and that a rule wants recorded.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "notify.h"
#include "say.h"
#include "tracer.h"

/* DIR/RULE-COMM-PID-ID.dep; what is no letter of a file name becomes '_'. */
static void name_store(const struct session_wish *w, const struct policy_exec *e, uint32_t id,
		       const char *dir, char *path, size_t size)
{
	char comm[32], *p;

	snprintf(comm, sizeof(comm), "%s", e->p.comm);
	for (p = comm; *p; p++)
		if (*p <= ' ' || *p == '/' || *p >= 127)
			*p = '_';
	snprintf(path, size, "%s/%s-%s-%d-%u.dep", dir, w->rule, comm, e->pid, id);
}

static uint32_t of_rule(struct depd *d, const char *name)
{
	struct session *s;
	uint32_t n = 0;

	for (s = d->sessions; s; s = s->next)
		n += s->state != SESSION_ENDED && !strcmp(s->rule, name);
	return n;
}

/* Each n-th of those that match, and only so many at a time. */
static bool is_its_turn(struct depd *d, int i)
{
	const struct policy_rule *r = &d->config.rule[i];

	if (d->rule_seen[i]++ % (r->every ? r->every : 1))
		return false;
	return !r->at_once || of_rule(d, r->name) < r->at_once;
}

static int take(struct depd *d, const struct policy_exec *e, const struct policy_rule *r, char *why)
{
	char path[PATH_MAX], *argv[] = { (char *)e->p.path, NULL };
	const char *dir = r->store ? r->store : d->config.store;
	struct session_wish w = {
		.owner = d->self, .argv = argv, .argc = 1, .rule = r->name, .store = path,
		.flags = r->flags, .ring_size = r->ring_size, .max_size = r->max_size,
		.level = r->level, .aslr = true, .transport = r->transport,
	};
	struct session *s;
	int ret;

	name_store(&w, e, d->last_id + 1, dir, path, sizeof(path));
	ret = session_begin(d, &w, &s, why);
	if (ret)
		return ret;
	ret = tracer_take(s, e->pid);
	if (ret) {
		snprintf(why, CONTROL_WHY, "%s", strerror(-ret));
		session_end(s, CAUSE_ABANDONED, why);
	}
	return ret;
}

static void missed(struct depd *d, pid_t pid, const char *name, const char *why)
{
	d->missed++;
	say(LOG_WARNING, 0, "process %d (%s) runs unrecorded: %s", pid, name, why);
}

void rules_taken(struct session *s, int ret, const char *why)
{
	struct depd *d = s->d;
	pid_t pid = s->taking;

	s->taking = 0;
	/* It may have been quicker than its end. */
	if (ret == -EPIPE) {
		session_step(s);
		ret = s->state == SESSION_RECORDING ? 0 : ret;
	}
	if (ret) {
		session_end(s, CAUSE_ABANDONED, why);
		if (ret != -ESRCH)
			missed(d, pid, s->command, why);
		if (d->watch)
			policy_let_go(d->watch, pid);
		return;
	}
	d->matches++;
	if (d->watch)
		policy_taken(d->watch, pid);
	if (s->state == SESSION_OPEN || s->state == SESSION_RECORDING)
		session_launched(s, pid, false, NULL);
}

static void exec(void *arg, const struct policy_exec *e)
{
	struct depd *d = arg;
	char why[CONTROL_WHY] = "";
	int i = policy_match(&d->config, &e->p);
	int ret = -ENOENT;

	/* There may be hundreds of them before the loop goes round. */
	notify_alive();
	/* Who would take the tracer? */
	if (i >= 0 && e->pid != tracer_pid(d) && is_its_turn(d, i)) {
		ret = take(d, e, &d->config.rule[i], why);
		if (ret)
			missed(d, e->pid, e->p.comm, why);
	}
	if (ret)
		policy_let_go(d->watch, e->pid);
}

static void events(struct loop_watch *w, short revents)
{
	struct depd *d = (struct depd *)((char *)w - offsetof(struct depd, policy_ready));

	(void)revents;
	policy_watch_read(d->watch, exec, d);
}

void policy_start(struct depd *d)
{
	int ret;

	*d->policy_trouble = '\0';
	if (!d->config.nrules)
		return;
	ret = policy_watch_open(&d->watch, d->policy_trouble, sizeof(d->policy_trouble));
	if (ret) {
		d->watch = NULL;
		say(LOG_ERR, 0, "rules have no effect: %s", d->policy_trouble);
		return;
	}
	d->rule_seen = calloc(d->config.nrules, sizeof(*d->rule_seen));
	ret = d->rule_seen ? policy_watch_rules(d->watch, &d->config) : -ENOMEM;
	d->policy_ready.ready = events;
	if (!ret)
		ret = loop_watch_add(d->loop, &d->policy_ready, policy_watch_fd(d->watch), POLLIN);
	if (!ret)
		return;
	snprintf(d->policy_trouble, sizeof(d->policy_trouble), "the rules cannot be set: %s",
		 strerror(-ret));
	say(LOG_ERR, 0, "%s", d->policy_trouble);
	policy_stop(d);
}

void policy_stop(struct depd *d)
{
	if (d->watch) {
		loop_unwatch(d->loop, &d->policy_ready);
		policy_watch_close(d->watch);
	}
	d->watch = NULL;
	free(d->rule_seen);
	d->rule_seen = NULL;
}
