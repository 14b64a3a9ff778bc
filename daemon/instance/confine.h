/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an instance gives up before it does anything for its user. */
#ifndef DEPD_INSTANCE_CONFINE_H
#define DEPD_INSTANCE_CONFINE_H

#include <stdint.h>

#include "daemon/base/credentials.h"

/**
 * confine() - be @u from now on, with limits and without privileges
 * @sessions: at a time, for the limit of memory
 *
 * Root keeps the capabilities that tracing and storing take, see confine.c.
 * Return: 0 or a negative errno; then nothing is to be done for @u.
 */
int confine(const struct user *u, uint32_t sessions);
/** confine_calls() - refuse system calls that no instance needs, also to those it starts */
int confine_calls(void);

#endif
