/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Other users' instances of root's depd, for root.
 *
 * Each user's sessions are in a process of that user's (depd(8)), which listens in a directory of
 * that user's.  What comes from there is hostile: it is waited for only so long, must be of that
 * user, and is shown as text.
 */
#ifndef DEPCTL_DAEMON_CLIENT_ALL_H
#define DEPCTL_DAEMON_CLIENT_ALL_H

#include "client.h"

/**
 * client_add_others() - add other users' sessions to the answer of "sessions"
 *
 * Harmless unless this is root, and depd has instances.  Warns of those that do not answer.
 * Return: 0 or -ENOMEM.
 */
int client_add_others(struct client *c);
/** client_stop_others() - ask the instance that has session @id to stop it: 0 or -ENOENT */
int client_stop_others(struct client *c, uint32_t id);

#endif
