/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The session files that a keeper has for the next depd (fdstore.h), also when the keeper dies:
 * another one is made then, and gets all of them.
 */
#ifndef DEPD_SESSIONS_KEPT_FILES_H
#define DEPD_SESSIONS_KEPT_FILES_H

#include "session.h"

/** kept_watch() - see from now on when the keeper dies */
int kept_watch(struct depd *d);
/** kept_put() - have the file of @s kept; 0 or as fdstore_put() */
int kept_put(struct session *s);

#endif
