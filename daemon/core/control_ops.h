/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations of a depd that has sessions, for its control socket and its metrics socket. */
#ifndef DEPD_CORE_CONTROL_OPS_H
#define DEPD_CORE_CONTROL_OPS_H

#include "daemon/sessions/depd.h"

/** ops_of() - operations for control_open() and metrics_open() */
struct control_ops ops_of(struct depd *d);
/** depd_own_info() - get the status of this process, without front and other instances */
void depd_own_info(struct depd *d, struct depd_info *out);

#endif
