// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "daemon/fdstore/fdstore.h"
#include "kept_files.h"
#include "daemon/base/log.h"

#define AGAIN_NS	10000000000ull	/* after a keeper that could not be made */

static int put(struct session *s)
{
	char name[KEEP_NAME_MAX];

	snprintf(name, sizeof(name), "session-%u", s->id);
	return keep_put(s->d->keep, name, s->ring.fd);
}

/* All that the last keeper had; one that only hung may have some of it. */
static void put_all(struct depd *d)
{
	struct session *s;
	int ret;

	for (s = d->sessions; s; s = s->next) {
		if (!s->begun || s->state == SESSION_ENDED || s->ring.fd < 0)
			continue;
		ret = put(s);
		if (ret && ret != -EEXIST)
			say(LOG_ERR, s->id, "its session file cannot be kept any more: %s",
			    strerror(-ret));
	}
}

static int make_another(struct depd *d)
{
	char why[CONTROL_WHY] = "";
	int ret;

	if (loop_now() < d->keep_not_before_ns)
		return -EPIPE;
	loop_unwatch(d->loop, &d->keep_ready);
	ret = keep_again(d->keep, d->rundir, why, sizeof(why));
	if (ret) {
		say(LOG_ERR, 0, "the keeper has ended, and there is no other one; until there is, "
		    "depd must not die: %s", why);
		d->keep_not_before_ns = loop_now() + AGAIN_NS;
		loop_timer_set(d->loop, &d->keep_again, AGAIN_NS, 0);
		return ret;
	}
	say(LOG_WARNING, 0, "the keeper has ended; another one has the session files now");
	put_all(d);
	return kept_watch(d);
}

static void again(struct loop_timer *t)
{
	struct depd *d = (struct depd *)((char *)t - offsetof(struct depd, keep_again));

	if (keep_lost(d->keep))
		make_another(d);
}

static void keep_ready(struct loop_watch *w, short revents)
{
	struct depd *d = (struct depd *)((char *)w - offsetof(struct depd, keep_ready));

	(void)revents;
	if (keep_lost(d->keep))
		make_another(d);
}

int kept_watch(struct depd *d)
{
	int fd = keep_fd(d->keep);

	d->keep_again.due = again;
	d->keep_ready.ready = keep_ready;
	return fd < 0 ? 0 : loop_watch_add(d->loop, &d->keep_ready, fd, POLLIN);
}

int kept_put(struct session *s)
{
	int ret = put(s);

	/* It died, or hangs: that is noticed here as well. */
	if (ret != -EPIPE && ret != -ETIMEDOUT)
		return ret;
	ret = make_another(s->d);
	return ret ? ret : put(s);
}
