/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Session files are kept in the fd store (fdstore.h), from which the next depd takes them.
 *
 * If the fd store's holder ends, a new one is started and gets all session files.
 */
#ifndef DEPD_SESSIONS_SESSION_FILES_H
#define DEPD_SESSIONS_SESSION_FILES_H

#include "session_info.h"

/** session_files_watch() - detect the end of the fd store's holder process, and replace it */
int session_files_watch(struct depd *d);
/** session_files_put() - add the session file of @s to the fd store.  Return: as fdstore_put() */
int session_files_put(struct session *s);

#endif
