/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of root to other users' instances of root's depd.
 *
 * Each user's sessions are in a process of that user (depd(8)), which listens in a directory of
 * that user.  Its answers can be hostile.  So the wait for them is limited, they must concern that
 * user, and control characters in them are not printed.
 */
#ifndef DEPCTL_DAEMON_CLIENT_ALL_H
#define DEPCTL_DAEMON_CLIENT_ALL_H

#include "client.h"

/**
 * client_add_others() - add other users' sessions to the answer of "sessions"
 *
 * Does nothing unless this is root, and depd has instances.  Warns about instances that do not
 * answer.  Return: 0 or -ENOMEM.
 */
int client_add_others(struct client *c);
/** client_stop_others() - ask all instances to stop session @id; 0, or -ENOENT: none has it */
int client_stop_others(struct client *c, uint32_t id);

#endif
