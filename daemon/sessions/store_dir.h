/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Check that the directory with the name of a session's store is the one that depd created.
 */
#ifndef DEPD_SESSIONS_STORE_DIR_H
#define DEPD_SESSIONS_STORE_DIR_H

#include "session_info.h"

/**
 * made_is_store() - true if s->store is the directory that session_begin() created
 *
 * A depd that was killed in session_begin() may have created the directory without recording
 * its inode.  Then the directory must belong to the session's owner, be younger than the session,
 * contain no recorded data, and have no writer.
 */
bool made_is_store(const struct session *s);
/** made_in_use() - true if a writer, such as a killed depd that is still exiting, has it open */
bool made_in_use(const struct session *s);
/** made_remove() - remove the session's store; does nothing if made_is_store() returns false */
void made_remove(struct session *s);

#endif
