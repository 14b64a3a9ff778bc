/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instance: the depd of one user under root's depd (front/front.h).
 *
 * It is a process with that user's credentials and no further rights.  Like a user's own depd it
 * has sessions, collectors, a tracer and a holder of the fd store.  Clients, configuration and
 * session ids come from the front.
 *
 * When the front ends, the instance ends at once and leaves its sessions open, as after a kill.
 * The next front starts an instance that adopts them.
 */
#ifndef DEPD_INSTANCE_INSTANCE_H
#define DEPD_INSTANCE_INSTANCE_H

#include "daemon/options.h"
#include "daemon/sessions/session.h"

struct link_page;

/** instance_main() - main function of an instance, which the front executes */
void instance_main(void) __attribute__((noreturn));

/* The following functions require d->link. */

/** link_second() - periodic work, once a second; @open: number of open sessions */
void link_second(struct depd *d, uint32_t open);
/** link_changed() - report to the front that a session has begun or ended */
void link_changed(struct depd *d);
/** link_info() - add the numbers of the front and of the other instances */
void link_info(const struct depd *d, struct depd_info *out);
/** link_sessions_most() - limit of open sessions of this instance */
uint32_t link_sessions_most(const struct depd *d);
/** link_next_id() - get the next session id, and use it up if @take; 0: none is available now */
uint32_t link_next_id(struct depd *d, bool take);
/** link_attached() - report to the front whether the process of session @s was attached */
void link_attached(struct session *s, int ret, const char *why);
char *link_rules_text(const struct depd *d);
bool link_account(const struct depd *d, size_t n, struct account_info *out);
/** link_reload() - make the front read the configuration; waits up to 10 seconds */
int link_reload(struct depd *d, char *why);

#endif
