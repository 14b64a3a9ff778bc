/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether the directory with the name of a session's store is the one that depd made.
 */
#ifndef DEPD_SESSIONS_STORE_DIR_H
#define DEPD_SESSIONS_STORE_DIR_H

#include "session.h"

/**
 * made_is_store() - is it the directory that session_begin() made?
 *
 * A depd that was killed within session_begin() may have made it without noting which one it is.
 * Then it is taken for the session's if it is the owner's, is younger than the session, is in
 * nobody's use, and nothing was recorded into it.
 */
bool made_is_store(const struct session *s);
/** made_in_use() - has a writer the store open?  The depd that was killed may, for a moment */
bool made_in_use(const struct session *s);
/** made_remove() - remove the session's store, unless the directory is another one */
void made_remove(struct session *s);

#endif
