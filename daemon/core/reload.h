/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DEPD_CORE_RELOAD_H
#define DEPD_CORE_RELOAD_H

#include "daemon/sessions/depd.h"

/** depd_reload() - read the configuration again; on an error the old one stays in effect */
int depd_reload(struct depd *d, char *why);

#endif
