/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run a depd that has sessions: a user's own depd, or a user's instance under root's depd. */
#ifndef DEPD_CORE_CORE_H
#define DEPD_CORE_CORE_H

#include "daemon/sessions/depd.h"

/**
 * core_prepare() - set up fd store, loop, tracer and writer threads, but no listening sockets
 * @d: rundir, its lock and the configuration must be set
 * @kept: receives an array of the descriptors that an earlier depd stored; the caller frees it
 * @n: receives their number
 *
 * Return: 0 or a negative errno; the error has been logged.
 */
int core_prepare(struct depd *d, struct fdstore_entry **kept, size_t *n);
/** core_run() - run the loop until depd must end.  Return: the exit status of the process. */
int core_run(struct depd *d);
/** core_shut_down() - end all sessions, then the loop; the second call ends the loop at once */
void core_shut_down(struct depd *d);
/** core_hand_over() - end the loop at once; the next depd adopts the sessions */
void core_hand_over(struct depd *d);
/** core_fail() - log that @what failed with @err, and return @err */
int core_fail(int err, const char *what);

#endif
