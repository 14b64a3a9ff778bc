/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depd's listening sockets: systemd's if it passes them, else depd makes them. */
#ifndef DEPD_FDSTORE_LISTEN_H
#define DEPD_FDSTORE_LISTEN_H

#include <sys/types.h>

#include "fdstore.h"

/**
 * listen_on() - a listening socket
 * @k: may have one of systemd's, named @systemd_name; NULL: there are none
 * @path: where; NULL: @name in @rundir
 */
int listen_on(struct fdstore *k, const char *rundir, const char *systemd_name, const char *path,
	      const char *name, mode_t mode);

#endif
