/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depd's listening sockets: passed by systemd, or created by depd. */
#ifndef DEPD_FDSTORE_LISTEN_H
#define DEPD_FDSTORE_LISTEN_H

#include <sys/types.h>

#include "fdstore.h"

/**
 * listen_on() - get a listening socket
 * @k: fd store with the sockets that systemd passed: one named @systemd_name is used; or NULL
 * @path: path of a new socket; NULL: @name in @rundir
 *
 * Return: the socket or a negative errno.
 */
int listen_on(struct fdstore *k, const char *rundir, const char *systemd_name, const char *path,
	      const char *name, mode_t mode);

#endif
