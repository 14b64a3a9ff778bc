/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State file of a session, RUNDIR/session-ID: data that another depd needs to adopt the session.
 *
 * The file is mapped, so that its content survives SIGKILL.  depd rejects files of another
 * FILE_VERSION.
 */
#ifndef DEPD_SESSIONS_STATE_FILE_H
#define DEPD_SESSIONS_STATE_FILE_H

#include "session_info.h"

struct session_file;

/** file_create() - create the state file and write the constant fields */
int file_create(struct session_file **f, const struct session *s);
/**
 * file_open() - read the state file that an earlier depd wrote for session @s->id
 * @s: receives the stored fields, such as owner, store, command, rule, flags and target.base
 * @saved: receives layout data of the session file
 *
 * Return: 0; -ENOENT: no state file; -EBADMSG: another version or damaged; or another negative
 * errno.
 */
int file_open(struct session_file **f, struct session *s, struct dep_session_saved *saved);
/** file_update() - write the variable fields of the state file */
void file_update(struct session_file *f, struct session *s);
/** file_close() - unmap the state file; with @remove, delete it: no depd can adopt @s then */
void file_close(struct session_file *f, const struct session *s, bool remove);
/** file_list() - list sessions that have a state file.  Return: their number, up to @max */
size_t file_list(const char *rundir, uint32_t *ids, size_t max);

#endif
