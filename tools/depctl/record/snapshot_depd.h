/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depctl snapshot of a session of depd. */
#ifndef DEPCTL_RECORD_SNAPSHOT_DEPD_H
#define DEPCTL_RECORD_SNAPSHOT_DEPD_H

#include "snapshot_socket.h"

#define SNAPSHOT_WHY	1024

/** struct snapshot_of_depd - which session; one of @session, @pid and @store is set */
struct snapshot_of_depd {
	uint32_t session;
	pid_t pid;
	const char *store;	/* path of the session's store */
	const char *socket;	/* of depd; NULL: the default */
	const char *dir;	/* absolute path of the store to make; "": depd chooses */
	bool quiet;		/* do not say that another snapshot must end first */
};

/**
 * snapshot_by_depd() - let depd make a snapshot, and wait for it
 *
 * If another snapshot of the session is being made, it waits for that first, however long.
 *
 * Return: 0, and @r has the result; -ENOENT: no depd has such a session; or another negative errno.
 * Then @why (SNAPSHOT_WHY bytes) says why.
 */
int snapshot_by_depd(const struct snapshot_of_depd *of, struct snapshot_response *r, char *why);

#endif
