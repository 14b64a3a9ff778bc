/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The exit status of a process that is no child of depd: the first process of a rule's session.
 *
 * Its pidfd tells the status when its parent has waited for it, from Linux 6.15 on.
 */
#ifndef DEPD_SESSIONS_EXIT_STATUS_H
#define DEPD_SESSIONS_EXIT_STATUS_H

#include "session_info.h"

/**
 * exit_status_watch() - begin to watch process @pid, whose status @s needs at its end
 *
 * Call it before the process is attached to, or found to be recorded: this then proves that the
 * number was that of the process when its pidfd was opened.
 */
void exit_status_watch(struct session *s, pid_t pid);
/**
 * exit_status_ready() - when no process of @s lives any more: try to get the status
 *
 * Return: false: call it again; true: s->status is the status, or it will not be known.
 */
bool exit_status_ready(struct session *s);
void exit_status_end(struct session *s);

#endif
