/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An instance: the depd of one user under root's (front/front.h), a process with that user's
 * credentials and nothing more.  It has sessions, collectors, a tracer and a holder as a user's
 * own depd has; its clients, configuration and numbers of sessions come from the front.
 *
 * When the front is gone it ends at once and leaves its sessions open, as they are after a kill:
 * the next front starts another one, which adopts them.
 */
#ifndef DEPD_INSTANCE_INSTANCE_H
#define DEPD_INSTANCE_INSTANCE_H

#include "daemon/options.h"
#include "daemon/sessions/session.h"

struct link_page;

/** instance_main() - what the front executes: never returns */
void instance_main(void) __attribute__((noreturn));

/* What follows is for depds that have a d->link. */

/** link_second() - what is to be done each second, with @open sessions */
void link_second(struct depd *d, uint32_t open);
/** link_changed() - a session has begun or ended: have the front know */
void link_changed(struct depd *d);
/** link_info() - add all that is the front's and the other instances' */
void link_info(const struct depd *d, struct depd_info *out);
/** link_sessions_most() - how many may be open here */
uint32_t link_sessions_most(const struct depd *d);
/** link_next_id() - the next session's number, 0: there is none yet; @take: and it is taken */
uint32_t link_next_id(struct depd *d, bool take);
/** link_attached() - tell the front what became of the process for which @s was begun */
void link_attached(struct session *s, int ret, const char *why);
char *link_rules_text(const struct depd *d);
bool link_account(const struct depd *d, size_t n, struct account_info *out);
/** link_reload() - have the front read the configuration; waits for it */
int link_reload(struct depd *d, char *why);

#endif
