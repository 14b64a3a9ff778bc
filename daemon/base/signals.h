/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The signals by which depd is controlled, as events of the loop. */
#ifndef DEPD_BASE_SIGNALS_H
#define DEPD_BASE_SIGNALS_H

#include "loop.h"

/**
 * signals_watch() - deliver SIGTERM, SIGINT, SIGHUP and SIGUSR2 through the loop
 * @w: its ready() must call signals_next(); it stays watched until the process ends
 *
 * SIGPIPE is ignored.  Return: 0 or a negative errno.
 */
int signals_watch(struct loop *l, struct loop_watch *w);
/** signals_next() - the number of the next signal that has arrived, 0: there is none */
int signals_next(const struct loop_watch *w);

#endif
