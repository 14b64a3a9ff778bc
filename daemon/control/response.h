/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What depd says on the control socket, as JSON; depd(8) has it all.
 */
#ifndef DEPD_CONTROL_RESPONSE_H
#define DEPD_CONTROL_RESPONSE_H

#include "daemon/base/account.h"
#include "daemon/base/status.h"
#include "daemon/base/strbuf.h"

/** answer_begin() - {"v":1,"ok":true, to be ended by answer_end() */
void answer_begin(struct text *t);
void answer_end(struct text *t);
/** answer_refusal() - the whole line but its newline; @err is a negative errno */
void answer_refusal(struct text *t, int err, const char *why);
/** answer_event() - likewise */
void answer_event(struct text *t, const char *event, const struct session_info *s);

void answer_session(struct text *t, const char *key, const struct session_info *s);
/** answer_depd() - @chunks, @bytes: the lag of all sessions */
void answer_depd(struct text *t, const struct depd_info *d, uint64_t chunks, uint64_t bytes);
/** answer_account() - what a person has */
void answer_account(struct text *t, const struct account_info *a);
/** answer_policy() - @rules: a JSON array */
void answer_policy(struct text *t, const struct depd_info *d, const char *rules);

#endif
