/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Deliver the signals that control depd as events of the loop. */
#ifndef DEPD_BASE_SIGNALS_H
#define DEPD_BASE_SIGNALS_H

#include "loop.h"

/**
 * signals_watch() - deliver SIGTERM, SIGINT, SIGHUP and SIGUSR2 through the loop
 * @w: its ready() must call signals_next(); it is polled until the process ends
 *
 * SIGPIPE is ignored.  Return: 0 or a negative errno.
 */
int signals_watch(struct loop *l, struct loop_watch *w);
/** signals_next() - take the next pending signal.  Return: its number; 0: none */
int signals_next(const struct loop_watch *w);

#endif
