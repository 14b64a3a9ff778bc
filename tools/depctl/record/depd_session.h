/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording through depd, and how its session is made. */
#ifndef DEPCTL_RECORD_DEPD_SESSION_H
#define DEPCTL_RECORD_DEPD_SESSION_H

#include <limits.h>

#include "tools/depctl/daemon/client.h"
#include "record.h"

#define COME_BACK_MS	15000	/* maximum wait for this or the next depd while no command runs */

struct remote {
	const struct record_options *o;
	struct client *c;
	char dir[PATH_MAX];
	uint32_t session;
	struct record_launch launch;
	struct adept_session *page;	/* first page of the session file; NULL: not mapped */
	int fd, ring_fd;
	int pidfd;		/* process that is attached to; -1: none */
	uint64_t stop_ms;	/* time when the recording ends; 0: no limit */
	bool detaching;		/* the processes leave the engine, or have left it */
	struct record_leaving leaving;
	int failed;		/* number of processes that could not be detached from */
	bool connected, warned_launched, child_ended, ended, warned_error;
	int status;
	uint64_t child_ended_ms;
	uint64_t asked_ms;	/* time of the last request for the session's state */
	unsigned int quiet_ms;	/* time without a message while a request is unanswered */
	uint64_t lost_ms;	/* time when the connection was lost */
	uint32_t snapshots;	/* number of snapshots that depd has reported */
	struct recorded *out;
};

/** depd_is_needed() - may the recording not be made without depd? */
bool depd_is_needed(const struct record_options *o);

/** triggers_json() - add what makes snapshots to the options of a request to record */
void triggers_json(cJSON *options, const struct record_options *o);

/**
 * depd_session_make() - ask depd for a session, and fill in what it sends
 *
 * Return: 0; -EXDEV: depd cannot record here, for example in another namespace, and the recording
 * may be made without it; or another error.  The reason has been printed.
 */
int depd_session_make(struct remote *r);

#endif
