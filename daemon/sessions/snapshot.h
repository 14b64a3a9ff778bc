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
/**
 * snapshot_trigger() - a trigger asks for a snapshot, which is made when those before it are
 *
 * Return: 0, also if enough were made; or a negative errno: the session makes none.
 */
int snapshot_trigger(struct session *s, const struct dep_kept *kept, char *why);
/**
 * snapshot_step() - in each step of the session: go on with its snapshots
 *
 * Takes the triggers that its threads have met.
 */
void snapshot_step(struct session *s);
/**
 * snapshot_finish() - before the session ends: go on with the snapshots that were asked for
 *
 * Later triggers count no more.  Return: true if all are stored; false: call it again.
 */
bool snapshot_finish(struct session *s);
/** snapshot_info() - what snapshots the session has made */
void snapshot_info(const struct session *s, struct session_info *out);
void snapshot_free(struct session *s);

#endif
