/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Teardown: the steps that close a session in state ENDING. */
#ifndef DEPD_SESSIONS_TEARDOWN_H
#define DEPD_SESSIONS_TEARDOWN_H

#include "session_info.h"

/** session_teardown_step() - do one step of ENDING.  Return: true: call it again at once */
bool session_teardown_step(struct session *s);
/** session_teardown_adopted() - end a session whose store an earlier depd has already closed */
void session_teardown_adopted(struct session *s);
/** session_forget_fd() - remove state file and stored descriptor: no depd can adopt @s then */
void session_forget_fd(struct session *s);

#endif
