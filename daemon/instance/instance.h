/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instance: the depd of one user under root's depd (front/front.h).
 *
 * An instance is a process with its user's credentials and no further permissions.  Like a user's
 * own depd it has sessions, collectors, a tracer and a holder of the fd store.  Clients,
 * configuration and session ids come from the front.
 *
 * When the front ends, the instance ends at once and leaves its sessions open, as after a kill.
 * The next front starts an instance that adopts them.
 */
#ifndef DEPD_INSTANCE_INSTANCE_H
#define DEPD_INSTANCE_INSTANCE_H

/** instance_main() - main function of an instance, which the front executes */
void instance_main(void) __attribute__((noreturn));

#endif
