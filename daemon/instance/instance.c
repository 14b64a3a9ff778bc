// SPDX-License-Identifier: GPL-2.0-or-later
/* Start of an instance, and its side of the link to the front (root's depd). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "confine.h"
#include "instance.h"
#include "daemon/core/auto_record.h"
#include "daemon/core/control_ops.h"
#include "daemon/core/core.h"
#include "daemon/link/link.h"
#include "daemon/policy/options.h"
#include "daemon/fdstore/holder.h"
#include "daemon/fdstore/listen.h"
#include "report.h"
#include "daemon/base/rundir.h"
#include "daemon/base/log.h"
#include "daemon/injector/tracer.h"

#define SOCKET		3
#define ROUND		64		/* messages handled in one call */
#define IDS_LOW		16u		/* request session ids if fewer are left */
#define IDS_LOW_ROOT	256u		/* IDS_LOW for root, who has no rate limit */
#define RULES_MAX	(4u << 20)	/* limit of the rules' text in bytes */
#define IDLE_NS		60000000000ull	/* an instance that is idle for this time exits */
#define LOCK_MS		5000		/* timeout for an earlier instance to end */
#define RELOAD_MS	10000
#define RESULTS_MAX	256

/** struct instance_link - an instance's side of the link to the front */
struct instance_link {
	struct depd *d;
	int sock;
	struct loop_watch ready;
	const struct link_page *page;
	char *rules;
	struct link_ids ids, next_ids;	/* reserved session ids: present range, next range */
	uint64_t got;			/* number of clients received from the front */
	uint64_t busy_ns;		/* last time when the instance was not idle */
	bool asked;			/* ids were requested in this second */
	bool going, reloaded;
	uint64_t most_last;		/* largest max_last that fits into the memory limit */
	struct link_result reload;
	struct link_result result[RESULTS_MAX];	/* results of attach requests, not sent yet */
	uint32_t nresults;
};

static struct depd depd;
static struct instance_link front;

/* ---- messages to the front ---- */

static void tell_number(struct instance_link *l, enum link_op op, uint64_t n)
{
	struct link_msg m = { .op = op, .number = n };

	/* If the socket is full, each_second() sends the message again. */
	link_send(l->sock, &m, NULL, 0);
}

static void send_report(struct depd *d)
{
	static struct link_msg m;

	/* No report while sessions are being adopted: serve() reports them together. */
	if (!d->control)
		return;
	m.op = LINK_REPORT;
	report_make(d, &m.report);
	link_send(d->link->sock, &m, NULL, 0);
}

static void flush_results(struct instance_link *l)
{
	struct link_msg m = { .op = LINK_ATTACHED };
	uint32_t n = 0;

	for (; n < l->nresults; n++) {
		m.result = l->result[n];
		if (link_send(l->sock, &m, NULL, 0))
			break;
	}
	l->nresults -= n;
	memmove(l->result, l->result + n, l->nresults * sizeof(l->result[0]));
}

static void result(struct instance_link *l, uint32_t seq, int ret, const char *why)
{
	struct link_result r = { .seq = seq, .result = ret };

	snprintf(r.why, sizeof(r.why), "%s", why ? why : "");
	/* The front limits its requests, so there is room for all results. */
	if (l->nresults < RESULTS_MAX)
		l->result[l->nresults++] = r;
	flush_results(l);
}

static void send_attached(struct session *s, int ret, const char *why)
{
	if (!s->attach_seq)
		return;
	/* Report the session first: the front counts the sessions of a rule. */
	send_report(s->d);
	result(s->d->link, s->attach_seq, ret, why);
	s->attach_seq = 0;
}

static void want_ids(struct instance_link *l)
{
	if (l->asked || l->next_ids.count ||
	    l->ids.count >= (l->d->self.uid ? IDS_LOW : IDS_LOW_ROOT))
		return;
	l->asked = true;
	tell_number(l, LINK_WANT_IDS, 0);
}

static void look_idle(struct instance_link *l, uint32_t open)
{
	struct depd *d = l->d;

	if (open || d->sessions || d->analyses || control_clients(d->control) || l->nresults)
		l->busy_ns = loop_now();
	else if (!d->shutting_down && loop_now() - l->busy_ns > IDLE_NS)
		tell_number(l, LINK_BYE, l->got);
}

static void each_second(struct depd *d, uint32_t open)
{
	struct instance_link *l = d->link;

	flush_results(l);
	send_report(d);
	tell_number(l, LINK_GOT, l->got);
	/* Request ids again: the last request can have been refused by the rate limit. */
	l->asked = false;
	want_ids(l);
	look_idle(l, open);
}

/* ---- struct front_ops: services that the front provides ---- */

static uint32_t next_id(struct depd *d, bool take)
{
	struct instance_link *l = d->link;
	uint32_t id;

	if (!l->ids.count) {
		l->ids = l->next_ids;
		l->next_ids.count = 0;
	}
	id = l->ids.count ? l->ids.first : 0;
	if (!take || !id)
		return id;
	l->ids.first++;
	l->ids.count--;
	want_ids(l);
	return id;
}

static uint32_t sessions_most(const struct depd *d)
{
	struct link_info i;

	page_read(d->link->page, &i);
	return i.sessions_most;
}

static void info(const struct depd *d, struct depd_info *out)
{
	static char text[CONTROL_WHY];
	struct link_info i;

	page_read(d->link->page, &i);
	link_add_info(out, &i.counters, &i.gauges);
	i.policy_error[sizeof(i.policy_error) - 1] = '\0';
	memcpy(text, i.policy_error, sizeof(text));
	out->pid = i.pid;
	out->start_realtime_ns = i.start_realtime_ns;
	out->uptime_ns = loop_now() - i.start_ns;
	out->policy_active = i.policy_active;
	out->policy_error = text;
	out->rules = i.rules;
	out->policy_matches = i.matches;
	out->policy_missed = i.missed;
}

static char *rules_text(const struct depd *d)
{
	return strdup(d->link->rules);
}

static bool account(const struct depd *d, size_t n, struct account_info *out)
{
	return page_account(d->link->page, n, out);
}

/* ---- messages from the front ---- */

static char *read_rules(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *text = NULL;

	if (size >= 0 && size <= RULES_MAX)
		text = calloc(1, (size_t)size + 1);
	if (text && pread(fd, text, (size_t)size, 0) != size) {
		free(text);
		text = NULL;
	}
	close(fd);
	return text;
}

static void set_config(struct depd *d, const struct link_config *c)
{
	struct depd_config *to = &d->config;

	to->give_up_ms = c->give_up_ms;
	to->max_store = c->max_store;
	to->max_age_s = c->max_age_s;
	to->workers = c->workers;
	to->races = c->races;
	/* The limit on memory was set when the instance began, and stays. */
	to->max_last = c->max_last < d->link->most_last ? c->max_last : d->link->most_last;
	free(to->store);
	to->store = *c->store ? strndup(c->store, sizeof(c->store) - 1) : NULL;
}

static void attach(struct instance_link *l, struct link_attach *t, int pidfd)
{
	char why[CONTROL_WHY] = "";
	struct rules_config w = {
		.pid = t->pid, .uid = t->uid, .start_ns = t->start_ns, .rule = t->rule,
		.comm = t->comm, .path = t->path,
		.dir = t->store, .flags = t->flags, .ring_size = t->ring_size,
		.max_size = t->max_size, .last_bytes = t->last_bytes, .last_ns = t->last_ns,
		.last_on_disk = t->last_on_disk, .keep_if = t->keep_if,
		.level = t->level, .transport = t->transport,
		.shared = t->shared, .group = t->group, .seq = t->seq,
	};
	int ret = -ESRCH;

	if (pidfd >= 0 && !syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0))
		ret = rules_attach(l->d, &w, why);
	if (ret)
		result(l, t->seq, ret, *why ? why : strerror(-ret));
}

static void handle(struct instance_link *l, struct link_msg *m, int *fds)
{
	char *text;

	switch (m->op) {
	case LINK_CONFIG:
		set_config(l->d, &m->config);
		text = fds[0] >= 0 ? read_rules(fds[0]) : NULL;
		fds[0] = -1;
		if (text) {
			free(l->rules);
			l->rules = text;
		}
		break;
	case LINK_CLIENT:
		l->got++;
		if (fds[0] >= 0)
			control_add(l->d->control, fds[0]);
		fds[0] = -1;
		break;
	case LINK_IDS:
		l->next_ids = m->ids;
		l->asked = false;
		break;
	case LINK_ATTACH:
		attach(l, &m->attach, fds[0]);
		break;
	case LINK_RELOADED:
		l->reload = m->result;
		l->reloaded = true;
		break;
	case LINK_END:
		core_shut_down(l->d);
		break;
	case LINK_GO:
		l->going = true;
		loop_end(l->d->loop);
		break;
	default:
		break;
	}
}

static int receive(struct instance_link *l)
{
	uint64_t got = l->got;
	struct link_msg *m = malloc(sizeof(*m));
	int fds[LINK_FDS], n, k, ret = m ? 0 : -EAGAIN;

	for (n = 0; n < ROUND && !ret && !l->going; n++) {
		ret = link_receive(l->sock, m, fds, false);
		if (ret)
			break;
		handle(l, m, fds);
		for (k = 0; k < LINK_FDS; k++)
			if (fds[k] >= 0)
				close(fds[k]);
	}
	free(m);
	if (l->got != got) {
		l->busy_ns = loop_now();
		tell_number(l, LINK_GOT, l->got);
	}
	return ret == -EAGAIN ? 0 : ret;
}

static void ready(struct loop_watch *w, short revents)
{
	struct instance_link *l = (struct instance_link *)
				  ((char *)w - offsetof(struct instance_link, ready));

	(void)revents;
	if (receive(l))
		core_hand_over(l->d);
}

static int ask_to_reload(struct depd *d, char *why)
{
	struct instance_link *l = d->link;
	struct pollfd p = { .fd = l->sock, .events = POLLIN };
	uint64_t until = loop_now() + RELOAD_MS * 1000000ull;
	int ret = 0;

	if (d->self.uid) {
		snprintf(why, CONTROL_WHY, "only root may reload the configuration");
		return -EPERM;
	}
	l->reloaded = false;
	tell_number(l, LINK_RELOAD, 0);
	while (!ret && !l->reloaded && loop_now() < until) {
		poll(&p, 1, 100);
		ret = receive(l);
	}
	if (ret || !l->reloaded) {
		snprintf(why, CONTROL_WHY, "the front process of depd does not answer");
		return -ETIMEDOUT;
	}
	snprintf(why, CONTROL_WHY, "%s", l->reload.why);
	return l->reload.result;
}

/* ---- start ---- */

static void fail(const char *what, int err)
{
	log_msg(LOG_ERR, 0, "%s: %s", what, strerror(-err));
	_exit(EXIT_FAILURE);
}

/* No session is left: remove depd's files, so that the front can remove the directory. */
static void tidy_up(const struct depd *d)
{
	static const char *const names[] = { "depd.sock", HOLDER_SOCKET, TRACER_LOCK, "lock" };
	int fd = open(d->rundir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	size_t i;

	for (i = 0; fd >= 0 && i < sizeof(names) / sizeof(names[0]); i++)
		unlinkat(fd, names[i], 0);
	if (fd >= 0)
		close(fd);
}

static bool has_sessions(const struct depd *d)
{
	const struct session *s;

	for (s = d->sessions; s; s = s->next)
		if (s->state != SESSION_ENDED)
			return true;
	return false;
}

static const struct front_ops front_ops = {
	.second = each_second, .changed = send_report, .info = info,
	.sessions_most = sessions_most, .next_id = next_id, .attached = send_attached,
	.rules_text = rules_text, .account = account, .reload = ask_to_reload,
};

static void begin(struct depd *d, struct link_start *s, const int *fds)
{
	struct timespec t;
	char why[CONTROL_WHY];
	int ret;

	front = (struct instance_link){
		.d = d, .sock = SOCKET, .ids = s->ids, .busy_ns = loop_now(),
		.most_last = s->user.uid ? s->config.max_last : UINT64_MAX,
	};
	d->link = &front;
	d->front = &front_ops;
	d->self = s->user;
	d->start_ns = loop_now();
	clock_gettime(CLOCK_REALTIME, &t);
	d->start_realtime_ns = t.tv_sec * 1000000000ull + t.tv_nsec;
	/* The process entered the directory as root; its user cannot reach the full path. */
	strcpy(d->rundir, ".");
	rundir_show(".", strndup(s->rundir, sizeof(s->rundir) - 1));
	set_config(d, &s->config);
	ret = page_open(&front.page, fds[0]);
	if (ret)
		fail("cannot map the shared page of the front", ret);
	front.rules = read_rules(fds[1]);
	if (!front.rules)
		fail("cannot read the rules", -EINVAL);
	d->rundir_lock = rundir_own(d->rundir, LOCK_MS, why, sizeof(why));
	if (d->rundir_lock < 0) {
		log_msg(LOG_ERR, 0, "%s", why);
		_exit(EXIT_FAILURE);
	}
}

static void serve(struct depd *d)
{
	struct control_ops ops = ops_of(d);
	int ret, fd;

	fd = listen_on(NULL, d->rundir, NULL, NULL, "depd.sock", 0600);
	ret = fd < 0 ? fd : control_open(&d->control, d->loop, fd, &ops);
	if (ret)
		fail("cannot open the control socket", ret);
	front.ready.ready = ready;
	ret = loop_watch_add(d->loop, &front.ready, front.sock, POLLIN);
	if (ret)
		fail("cannot watch the connection to the front", ret);
	tell_number(&front, LINK_HELLO, 0);
	send_report(d);
	want_ids(&front);
}

void instance_main(void)
{
	struct link_msg *m = calloc(1, sizeof(*m));
	struct depd *d = &depd;
	struct fdstore_entry *kept;
	size_t nkept;
	int fds[LINK_FDS], ret;

	prctl(PR_SET_NAME, INSTANCE_NAME);
	log_through_pipe();
	umask(077);
	if (!m || fcntl(SOCKET, F_SETFD, FD_CLOEXEC) ||
	    link_receive(SOCKET, m, fds, true) || m->op != LINK_START)
		_exit(EXIT_FAILURE);
	if (chdir(m->start.rundir))
		fail("cannot enter the instance's directory", -errno);
	ret = confine(&m->start.user, m->start.sessions, m->start.config.max_last);
	if (ret)
		fail("cannot take the user's credentials", ret);
	begin(d, &m->start, fds);
	free(m);
	if (core_prepare(d, &kept, &nkept))
		_exit(EXIT_FAILURE);
	session_adopt_all(d, kept, nkept);
	free(kept);
	serve(d);
	ret = core_run(d);
	/* The next instance adopts the open sessions. */
	if (!ret && has_sessions(d))
		ret = EXIT_HAND_OVER;
	if (!ret)
		tidy_up(d);
	exit(ret);
}
