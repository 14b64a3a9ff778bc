/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Open the session that records a process.  With 0, close it with dep_session_close(). */
#ifndef ADEPT_DEPCTL_FIND_SESSION_H
#define ADEPT_DEPCTL_FIND_SESSION_H

#include <stdint.h>

#include "libdep/attach/session.h"

/**
 * session_by_depd() - get a session from depd: number @session, or, if that is 0, that of @pid
 * @socket: of depd; NULL: the default
 *
 * Then call dep_session_process() for each process.
 *
 * Return: 0 or a negative errno, with the reason in @why.
 */
int session_by_depd(struct dep_found *f, pid_t pid, uint32_t session, const char *socket,
		    struct dep_why *why);
/** session_of_process() - through the process itself, or, if that is not possible, from depd */
int session_of_process(struct dep_found *f, pid_t pid, const char *socket, struct dep_why *why);

#endif
