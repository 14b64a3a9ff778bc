/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of a session, a step at a time. */
#ifndef DEPD_SESSIONS_TEARDOWN_H
#define DEPD_SESSIONS_TEARDOWN_H

#include "session.h"

/** session_go_on_ending() - true: call again at once */
bool session_go_on_ending(struct session *s);
/** session_was_ended() - by a depd that was killed before it could tell */
void session_was_ended(struct session *s);
/** session_unkeep() - it is not to be adopted any more */
void session_unkeep(struct session *s);

/* ---- of session.c ---- */

/** session_loss() - all that is known not to be in its store */
void session_loss(struct session *s, struct dep_loss *out);

#endif
