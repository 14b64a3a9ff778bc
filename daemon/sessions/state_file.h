/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state file of a session, RUNDIR/session-ID: what it takes to adopt it.
 *
 * Mapped, so that what depd writes there is there after SIGKILL.  Another version of depd
 * does not read it.
 */
#ifndef DEPD_SESSIONS_STATE_FILE_H
#define DEPD_SESSIONS_STATE_FILE_H

#include "session.h"

struct session_file;

/** file_create() - write what does not change */
int file_create(struct session_file **f, const struct session *s);
/**
 * file_open() - what an earlier depd left about session @id
 *
 * Fills in @s: owner, store, command, rule, flags, target.base and what else is kept; and @saved.
 * Return: 0, -ENOENT, -EBADMSG: not this version's, or damaged.
 */
int file_open(struct session_file **f, struct session *s, struct dep_session_saved *saved);
/** file_update() - write what changes */
void file_update(struct session_file *f, struct session *s);
/** file_close() - @remove: nobody has to adopt it any more */
void file_close(struct session_file *f, const struct session *s, bool remove);
/** file_list() - the numbers of sessions that have one: how many, at most @max of them */
size_t file_list(const char *rundir, uint32_t *ids, size_t max);

#endif
