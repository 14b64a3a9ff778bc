/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of a session, a step at a time. */
#ifndef DEPD_SESSIONS_TEARDOWN_H
#define DEPD_SESSIONS_TEARDOWN_H

#include "session.h"

/** session_teardown_step() - true: call again at once */
bool session_teardown_step(struct session *s);
/** session_teardown_adopted() - by a depd that was killed before it could tell */
void session_teardown_adopted(struct session *s);
/** session_forget_fd() - it is not to be adopted any more */
void session_forget_fd(struct session *s);

/* ---- of session.c ---- */

/** session_loss() - all that is known not to be in its store */
void session_loss(struct session *s, struct dep_loss *out);

#endif
