/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Log of depd: journal entries with fields if stderr is connected to the journal, else lines on
 * stderr.
 */
#ifndef DEPD_BASE_LOG_H
#define DEPD_BASE_LOG_H

#include <stdint.h>
#include <syslog.h>

/**
 * log_open() - choose between journal and stderr
 * @store: callback that returns the directory of a session's store for the journal's field
 *	   ADEPT_STORE, or NULL if the session has no store; runs in the thread that calls
 *	   log_msg().  NULL: entries have no field ADEPT_STORE.
 */
void log_open(const char *(*store)(uint32_t session));

/**
 * log_through_pipe() - write lines "<PRIORITY>SESSION TEXT" to stderr, for the front
 *
 * The front is root's depd, which starts instances and reads their stderr.
 */
void log_through_pipe(void);

/**
 * log_msg() - log a line
 * @priority: LOG_ERR, LOG_WARNING and so on, see syslog(3)
 * @session: session that the line is about, for the field ADEPT_SESSION; 0: none
 */
void log_msg(int priority, uint32_t session, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
