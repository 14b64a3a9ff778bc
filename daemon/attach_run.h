/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DEPD_ATTACH_RUN_H
#define DEPD_ATTACH_RUN_H

#include "daemon/policy/options.h"
#include "daemon/sessions/depd.h"

/**
 * attach_run() - depd --attach: record a running process
 * @d: state of the depd that is started for this
 *
 * Replaces the calling process by depctl.  Return: exit status, if that fails; and, in the depd
 * that is started, when it has ended.
 */
int attach_run(struct depd *d, const struct options *o);

#endif
