/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests that root sends to the depd instances of all users.
 *
 * Root's depd has one instance for each user: a process of this user that records the user's
 * sessions and listens in a directory of the user (depd(8)).  Its answers can be hostile.  So
 * depctl waits for them only a limited time, accepts only sessions of the instance's own user, and
 * replaces control characters when it prints them.
 */
#ifndef DEPCTL_DAEMON_CLIENT_ALL_H
#define DEPCTL_DAEMON_CLIENT_ALL_H

#include "client.h"

/**
 * client_add_others() - add other users' sessions to the answer of "sessions"
 *
 * Does nothing unless depctl runs as root and depd has instances.  Warns about instances that do
 * not answer.  Return: 0 or -ENOMEM.
 */
int client_add_others(struct client *c);
/** client_stop_others() - ask all instances to stop session @id; -ENOENT: no instance has it */
int client_stop_others(struct client *c, uint32_t id);

#endif
