/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshots of a session that keeps only its newest part (last_bytes): stores of what it has at a
 * moment, while it goes on.
 *
 * depd writes them with the session owner's permissions, as it writes the session's store.  The
 * client gets the result as a message on a socket, since storing takes seconds.
 */
#ifndef DEPD_SESSIONS_SNAPSHOT_H
#define DEPD_SESSIONS_SNAPSHOT_H

#include "session.h"

/** snapshot_prepare() - make a session of @w, which has last_bytes, able to make snapshots */
int snapshot_prepare(struct session *s, const struct session_config *w);
/**
 * snapshot_ask() - begin a snapshot
 * @store: absolute path of the store to make; NULL: the session's store with a number
 * @fd: receives a socket, which the caller closes; one JSON object comes from it at the end
 * @path: receives the path of the store, which stays valid until the snapshot has ended
 *
 * Return: 0; -EBUSY: the last snapshot of this session has not ended; or another negative errno.
 */
int snapshot_ask(struct session *s, const char *store, int *fd, const char **path, char *why);
/** snapshot_step() - in each step of the session: go on with the snapshot, if there is one */
void snapshot_step(struct session *s);
/**
 * snapshot_over() - before the session ends: refuse a snapshot that has not begun
 *
 * Return: true if no snapshot is being stored.
 */
bool snapshot_over(struct session *s);
void snapshot_free(struct session *s);

#endif
