// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The front's view of instances: start, messages, queued clients, restart.
 *
 * The front never waits for an instance.  A client that is not accepted in time is refused.  An
 * instance whose process has ended is started again, with a growing delay.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/base/log.h"
#include "front.h"

#define ROUND		32		/* messages handled in one call of ready() */
#define MESSAGES_SECOND	1000u		/* limit of messages of a user's instance in a second */
#define AGAIN_NS	10000000ull	/* delay before the first restart of a process */
#define AGAIN_MOST_NS	30000000000ull	/* limit of the delay, which doubles each time */
#define LIVED_NS	10000000000ull	/* a process that ran this long resets the delay */

static const char slow[] = "your instance of depd does not accept the request: it is stopped, "
			   "or overloaded";

/* ---- queued clients ---- */

static void drop_first(struct instance *i)
{
	struct waiting *w = i->first;

	i->first = w->next;
	if (!i->first)
		i->last = &i->first;
	i->nwaiting--;
	i->front->nwaiting--;
	account_put(i->account, ACCOUNT_WAITING, 1);
	free(w);
}

static void refuse_first(struct instance *i, int err, const char *why)
{
	int fd = i->first->fd;

	drop_first(i);
	front_refuse(i->front, fd, err, why);
}

static void pass_on(struct instance *i)
{
	struct link_msg m = { .op = LINK_CLIENT };

	while (i->first && i->state == INSTANCE_RUNNING &&
	       i->sent - i->got < FRONT_UNTAKEN_MAX) {
		if (link_send(i->sock, &m, &i->first->fd, 1))
			return;
		i->sent++;
		close(i->first->fd);
		drop_first(i);
	}
}

int instance_client(struct instance *i, int fd)
{
	struct waiting *w;
	int ret = account_get(i->account, ACCOUNT_WAITING, 1);

	if (ret)
		return ret;
	w = malloc(sizeof(*w));
	if (!w) {
		account_put(i->account, ACCOUNT_WAITING, 1);
		return -ENOMEM;
	}
	*w = (struct waiting){ .fd = fd, .since_ns = loop_now() };
	*i->last = w;
	i->last = &w->next;
	i->nwaiting++;
	i->front->nwaiting++;
	pass_on(i);
	return 0;
}

/* ---- start and end of an instance's process ---- */

static void drop_process(struct instance *i)
{
	loop_remove(i->front->loop, &i->ready);
	loop_remove(i->front->loop, &i->gone);
	loop_remove(i->front->loop, &i->says);
	if (i->sock >= 0)
		close(i->sock);
	if (i->pidfd >= 0)
		close(i->pidfd);
	if (i->log >= 0)
		close(i->log);
	i->sock = -1;
	i->pidfd = -1;
	i->log = -1;
	page_free(i->page);
	i->page = NULL;
	i->pid = 0;
}

static void instance_free(struct instance *i)
{
	struct instance **at = &i->front->instances;

	while (*at != i)
		at = &(*at)->next;
	*at = i->next;
	i->front->ninstances--;
	loop_timer_cancel(i->front->loop, &i->again);
	account_put(i->account, ACCOUNT_INSTANCES, 1);
	free(i);
}

static void again_in(struct instance *i)
{
	uint64_t ns = AGAIN_NS << (i->failures < 12 ? i->failures : 12);

	i->state = INSTANCE_ENDED;
	i->failures++;
	loop_timer_set(i->front->loop, &i->again, ns < AGAIN_MOST_NS ? ns : AGAIN_MOST_NS, 0);
}

static void start(struct instance *i)
{
	int ret = 0;

	if (!account_rate(i->account, RATE_STARTS, 1, loop_now()))
		ret = -EAGAIN;
	if (!ret)
		ret = instance_start(i);
	if (!ret) {
		i->state = INSTANCE_RUNNING;
		report_pages(i->front);
		pass_on(i);
		return;
	}
	drop_process(i);
	if (ret != -EAGAIN)
		log_msg(LOG_ERR, 0, "cannot start the instance of user %u: %s", i->user.uid,
			strerror(-ret));
	while (i->first && ret != -EAGAIN)
		refuse_first(i, ret, "depd cannot start an instance for this user");
	again_in(i);
}

static void again_due(struct loop_timer *t)
{
	struct instance *i = (struct instance *)((char *)t - offsetof(struct instance, again));

	if (!i->front->shutting_down)
		start(i);
}

/* Free an instance that has no sessions; remove its directory unless the directory has files. */
static void forget(struct instance *i)
{
	if (!dir_drop(i->front->users, i->name))
		account_put(i->account, ACCOUNT_DIRECTORIES, 1);
	instance_free(i);
}

static void has_ended(struct instance *i, int status)
{
	bool expected = i->state == INSTANCE_LEAVING || i->front->shutting_down;

	log_flush(i);
	if (!expected && WIFSIGNALED(status))
		log_msg(LOG_WARNING, 0,
			"the instance of user %u, process %d, was killed by signal %d", i->user.uid,
			i->pid, WTERMSIG(status));
	else if (!expected)
		log_msg(LOG_WARNING, 0,
			"the instance of user %u, process %d, has ended with status %d",
			i->user.uid, i->pid, WEXITSTATUS(status));
	i->front->events->lost(i);
	report_end(i);
	if (loop_now() - i->start_ns > LIVED_NS)
		i->failures = 0;
	drop_process(i);
	if (i->front->shutting_down || (i->state == INSTANCE_LEAVING && !i->first)) {
		/* Exit status 0: the process has left no session open. */
		if (WIFEXITED(status) && !WEXITSTATUS(status) && !i->first)
			forget(i);
		else
			i->state = INSTANCE_ENDED;
		return;
	}
	if (i->state == INSTANCE_LEAVING)
		i->failures = 0;
	again_in(i);
}

static void gone(struct loop_watch *w, short revents)
{
	struct instance *i = (struct instance *)((char *)w - offsetof(struct instance, gone));
	int status;

	(void)revents;
	if (waitpid(i->pid, &status, WNOHANG) == i->pid)
		has_ended(i, status);
}

/* ---- messages ---- */

static void send_ids(struct instance *i)
{
	struct link_msg m = { .op = LINK_IDS };

	m.ids = instance_ids(i);
	/* If the socket is full, these ids are lost and the instance requests ids again. */
	if (m.ids.count)
		link_send(i->sock, &m, NULL, 0);
}

static void send_config(struct instance *i)
{
	static struct link_msg m;
	int fd = front_rules_fd(i->front);

	memset(&m, 0, sizeof(m));
	m.op = LINK_CONFIG;
	front_config(i->front, &i->user, &m.config);
	i->config_due = fd < 0 || link_send(i->sock, &m, &fd, 1);
	if (fd >= 0)
		close(fd);
}

void instance_config(struct instance *i)
{
	if (i->state == INSTANCE_RUNNING)
		send_config(i);
}

static void send_end(struct instance *i)
{
	struct link_msg m = { .op = LINK_END };

	i->end_due = link_send(i->sock, &m, NULL, 0) == -EAGAIN;
}

void instance_end(struct instance *i)
{
	while (i->first)
		refuse_first(i, -EAGAIN, "depd is shutting down");
	loop_timer_cancel(i->front->loop, &i->again);
	if (i->state == INSTANCE_RUNNING)
		send_end(i);
}

static void bye(struct instance *i, uint64_t received)
{
	struct link_msg m = { .op = LINK_GO };

	if (i->state != INSTANCE_RUNNING || received != i->sent || i->first || i->nattaches)
		return;
	/* If the socket is full, the instance continues and sends LINK_BYE again. */
	if (!link_send(i->sock, &m, NULL, 0))
		i->state = INSTANCE_LEAVING;
}

/* Reload the configuration for root's instance, ignore other instances.  Can take a second. */
static void reload(struct instance *i)
{
	struct link_msg m = { .op = LINK_RELOADED };

	if (i->user.uid)
		return;
	m.result.result = i->front->events->reload(i->front, m.result.why);
	link_send(i->sock, &m, NULL, 0);
}

void instance_message(struct instance *i, const struct link_msg *m)
{
	switch (m->op) {
	case LINK_HELLO:
		break;
	case LINK_REPORT:
		i->heard_ns = loop_now();
		if (report_attach(i, &m->report))
			log_msg(LOG_WARNING, 0,
				"ignored an invalid report of the instance of user %u",
				i->user.uid);
		break;
	case LINK_GOT:
		if (m->number >= i->got && m->number <= i->sent)
			i->got = m->number;
		pass_on(i);
		break;
	case LINK_WANT_IDS:
		send_ids(i);
		break;
	case LINK_ATTACHED:
		i->front->events->attached(i, &m->result);
		break;
	case LINK_RELOAD:
		reload(i);
		break;
	case LINK_BYE:
		bye(i, m->number);
		break;
	default:
		break;
	}
}

/* Handle messages.  An instance that closes its end or sends an invalid message is killed. */
static void ready(struct loop_watch *w, short revents)
{
	struct instance *i = (struct instance *)((char *)w - offsetof(struct instance, ready));
	static struct link_msg m;
	int fds[LINK_FDS], n, k, ret = 0;

	(void)revents;
	/* Above the limit of messages, stop reading until the next second. */
	if (i->user.uid && i->nmessages > MESSAGES_SECOND) {
		loop_watch_change(i->front->loop, w, 0);
		return;
	}
	for (n = 0; n < ROUND && !ret; n++) {
		i->nmessages++;
		ret = link_receive(i->sock, &m, fds, false);
		for (k = 0; k < LINK_FDS && !ret; k++)
			if (fds[k] >= 0)
				close(fds[k]);
		if (!ret)
			instance_message(i, &m);
	}
	if (!ret || ret == -EAGAIN)
		return;
	loop_remove(i->front->loop, w);
	/* The link is closed or broken: kill the process.  Its pidfd reports the end to gone(). */
	kill(i->pid, SIGKILL);
}

/* ---- periodic work ---- */

void instance_second(struct instance *i, uint64_t now)
{
	log_second(i);
	if (i->pid)
		report_measure(i);
	i->nmessages = 0;
	loop_watch_change(i->front->loop, &i->ready, POLLIN);
	while (i->first && now - i->first->since_ns > FRONT_WAIT_NS) {
		account_refused(i->account);
		refuse_first(i, -EAGAIN, slow);
	}
	if (i->state != INSTANCE_RUNNING)
		return;
	if (i->config_due)
		send_config(i);
	if (i->end_due)
		send_end(i);
	pass_on(i);
}

/* ---- all instances ---- */

static bool is_of(const struct instance *i, const struct user *u)
{
	return i->user.uid == u->uid && i->user.gid == u->gid && i->user.ngroups == u->ngroups &&
	       !memcmp(i->user.groups, u->groups, (size_t)u->ngroups * sizeof(u->groups[0]));
}

static int make(struct front *f, const struct user *u, struct instance **out)
{
	struct account *a;
	struct instance *i;
	int ret;

	if (f->ninstances >= FRONT_INSTANCES_MAX)
		return -EAGAIN;
	a = account_of(f->accounts, u->uid);
	i = a ? calloc(1, sizeof(*i)) : NULL;
	if (!i)
		return -ENOMEM;
	ret = account_get(a, ACCOUNT_INSTANCES, 1);
	if (ret)
		goto fail;
	dir_name(u, i->name, sizeof(i->name));
	/* An existing directory is already charged to the account. */
	ret = dir_exists(f->users, i->name) ? 0 : account_get(a, ACCOUNT_DIRECTORIES, 1);
	if (ret) {
		account_put(a, ACCOUNT_INSTANCES, 1);
		goto fail;
	}
	i->front = f;
	i->user = *u;
	i->account = a;
	i->sock = -1;
	i->log = -1;
	i->pidfd = -1;
	i->last = &i->first;
	i->ready.ready = ready;
	i->gone.ready = gone;
	i->says.ready = log_ready;
	i->again.due = again_due;
	i->next = f->instances;
	f->instances = i;
	f->ninstances++;
	start(i);
	*out = i;
	return 0;
fail:
	free(i);
	return ret;
}

int instance_get(struct front *f, const struct user *u, struct instance **out)
{
	struct instance *i;

	for (i = f->instances; i && !is_of(i, u); i = i->next)
		;
	if (i) {
		*out = i;
		return 0;
	}
	return make(f, u, out);
}

static void adopt(void *arg, const struct user *u)
{
	struct instance *i;
	int ret = instance_get(arg, u, &i);

	if (ret)
		log_msg(LOG_ERR, 0, "cannot resume the sessions of user %u: %s", u->uid,
			strerror(-ret));
}

static void count_left(void *arg, uid_t uid)
{
	struct front *f = arg;
	struct account *a = account_of(f->accounts, uid);

	if (a)
		account_report(a, ACCOUNT_DIRECTORIES, 0, 1);
}

void instance_adopt_all(struct front *f)
{
	dir_left(f->users, count_left, f);
	dir_each(f->users, adopt, f);
}

void instance_close(struct instance *i)
{
	while (i->first)
		refuse_first(i, -EAGAIN, "depd is shutting down");
	drop_process(i);
	instance_free(i);
}
