/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Status reports of an instance to the front (root's depd). */
#ifndef DEPD_INSTANCE_REPORT_H
#define DEPD_INSTANCE_REPORT_H

#include "daemon/sessions/depd.h"
#include "daemon/link/link.h"

void report_make(struct depd *d, struct link_report *r);

#endif
