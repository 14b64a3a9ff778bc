/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The session files that a holder has for the next depd (fdstore.h), also when the holder dies:
 * another one is made then, and gets all of them.
 */
#ifndef DEPD_SESSIONS_KEPT_FILES_H
#define DEPD_SESSIONS_KEPT_FILES_H

#include "session.h"

/** session_files_watch() - see from now on when the holder dies */
int session_files_watch(struct depd *d);
/** session_files_put() - have the file of @s kept; 0 or as fdstore_put() */
int session_files_put(struct session *s);

#endif
