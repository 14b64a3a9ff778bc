/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What depd says on the control socket, as JSON; depd(8) has it all.
 */
#ifndef DEPD_CONTROL_RESPONSE_H
#define DEPD_CONTROL_RESPONSE_H

#include "daemon/base/account.h"
#include "daemon/base/status.h"
#include "daemon/base/strbuf.h"

/** response_begin() - {"v":1,"ok":true, to be ended by response_end() */
void response_begin(struct strbuf *t);
void response_end(struct strbuf *t);
/** response_refusal() - the whole line but its newline; @err is a negative errno */
void response_refusal(struct strbuf *t, int err, const char *why);
/** response_event() - likewise */
void response_event(struct strbuf *t, const char *event, const struct session_info *s);

void response_session(struct strbuf *t, const char *key, const struct session_info *s);
/** response_depd() - @chunks, @bytes: the lag of all sessions */
void response_depd(struct strbuf *t, const struct depd_info *d, uint64_t chunks, uint64_t bytes);
/** response_account() - what a person has */
void response_account(struct strbuf *t, const struct account_info *a);
/** response_policy() - @rules: a JSON array */
void response_policy(struct strbuf *t, const struct depd_info *d, const char *rules);

#endif
