/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON responses and events of the control socket, see depd(8).
 */
#ifndef DEPD_CONTROL_RESPONSE_H
#define DEPD_CONTROL_RESPONSE_H

#include "daemon/base/account.h"
#include "daemon/base/status.h"
#include "daemon/base/strbuf.h"

/** response_begin() - append {"v":1,"ok":true; response_end() must follow */
void response_begin(struct strbuf *t);
void response_end(struct strbuf *t);
/** response_refusal() - append an error response without newline; @err: a negative errno */
void response_refusal(struct strbuf *t, int err, const char *why);
/** response_event() - append an event message without newline */
void response_event(struct strbuf *t, const char *event, const struct session_info *s);

void response_session(struct strbuf *t, const char *key, const struct session_info *s);
/** response_depd() - append depd's status; @chunks, @bytes: data of all sessions not stored yet */
void response_depd(struct strbuf *t, const struct depd_info *d, uint64_t chunks, uint64_t bytes);
/** response_account() - append the resources that a user's account uses */
void response_account(struct strbuf *t, const struct account_info *a);
/** response_policy() - append the state of the policy; @rules: a JSON array */
void response_policy(struct strbuf *t, const struct depd_info *d, const char *rules);

#endif
