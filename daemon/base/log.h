/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What depd logs: to the journal with fields where stderr goes there, else to stderr.
 */
#ifndef DEPD_BASE_LOG_H
#define DEPD_BASE_LOG_H

#include <stdint.h>
#include <syslog.h>

/**
 * log_open() - find out where to
 * @store: the directory of a session's store, for the field ADEPT_STORE; NULL: it has none.
 *	   Called by log_msg(), in its thread.  NULL: no such field.
 */
void log_open(const char *(*store)(uint32_t session));

/** log_through_pipe() - from now on as lines "<PRIORITY>SESSION TEXT" on stderr, for the front */
void log_through_pipe(void);

/**
 * log_msg() - log a line
 * @priority: LOG_ERR..
 * @session: what it is about, field ADEPT_SESSION; 0: none
 */
void log_msg(int priority, uint32_t session, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
