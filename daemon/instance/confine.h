/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Confinement: an instance drops privileges before it does anything for its user. */
#ifndef DEPD_INSTANCE_CONFINE_H
#define DEPD_INSTANCE_CONFINE_H

#include <stdint.h>

#include "daemon/base/credentials.h"

/**
 * confine() - take the credentials of @u, set resource limits, and drop all other privileges
 * @sessions: number of open sessions that must fit into the memory limit
 * @last: bytes that their windows (last_bytes) may have in all; they must fit, too
 *
 * Root keeps the capabilities that tracing and storing need, see confine.c.
 * Return: 0 or a negative errno, after which the process must do nothing for @u.
 */
int confine(const struct user *u, uint32_t sessions, uint64_t last);
/** confine_calls() - install the seccomp filter, which all later child processes inherit */
int confine_calls(void);

#endif
