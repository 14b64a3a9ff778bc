// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "daemon/fdstore/fdstore.h"
#include "session_files.h"
#include "daemon/base/log.h"

#define AGAIN_NS	10000000000ull	/* pause after a holder could not be started */

static int put(struct session *s)
{
	char name[FDSTORE_NAME_MAX];

	snprintf(name, sizeof(name), "session-%u", s->id);
	return fdstore_put(s->d->fdstore, name, s->ring.fd);
}

/* Give all session files to the holder.  -EEXIST: the old holder still has it. */
static void put_all(struct depd *d)
{
	struct session *s;
	int ret;

	for (s = d->sessions; s; s = s->next) {
		if (!s->begun || s->state == SESSION_ENDED || s->ring.fd < 0)
			continue;
		ret = put(s);
		if (ret && ret != -EEXIST)
			log_msg(LOG_ERR, s->id, "the new holder process cannot keep the session "
				"file: %s", strerror(-ret));
	}
}

static int make_another(struct depd *d)
{
	char why[CONTROL_WHY] = "";
	int ret;

	if (loop_now() < d->fdstore_retry_ns)
		return -EPIPE;
	loop_remove(d->loop, &d->fdstore_ready);
	ret = fdstore_retry(d->fdstore, d->rundir, why, sizeof(why));
	if (ret) {
		log_msg(LOG_ERR, 0,
			"the holder process has ended and no other can be started; if depd is "
			"killed now, sessions are lost: %s",
			why);
		d->fdstore_retry_ns = loop_now() + AGAIN_NS;
		loop_timer_set(d->loop, &d->fdstore_retry, AGAIN_NS, 0);
		return ret;
	}
	log_msg(LOG_WARNING, 0, "the holder process has ended; a new one has the session files");
	put_all(d);
	return session_files_watch(d);
}

static void again(struct loop_timer *t)
{
	struct depd *d = (struct depd *)((char *)t - offsetof(struct depd, fdstore_retry));

	if (fdstore_lost(d->fdstore))
		make_another(d);
}

static void fdstore_ready(struct loop_watch *w, short revents)
{
	struct depd *d = (struct depd *)((char *)w - offsetof(struct depd, fdstore_ready));

	(void)revents;
	if (fdstore_lost(d->fdstore))
		make_another(d);
}

int session_files_watch(struct depd *d)
{
	int fd = fdstore_fd(d->fdstore);

	d->fdstore_retry.due = again;
	d->fdstore_ready.ready = fdstore_ready;
	return fd < 0 ? 0 : loop_watch_add(d->loop, &d->fdstore_ready, fd, POLLIN);
}

int session_files_put(struct session *s)
{
	int ret = put(s);

	/* -EPIPE, -ETIMEDOUT: the holder has ended or hangs; replace it at once. */
	if (ret != -EPIPE && ret != -ETIMEDOUT)
		return ret;
	ret = make_another(s->d);
	return ret ? ret : put(s);
}
