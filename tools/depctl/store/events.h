/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Print events as text and as JSON. */
#ifndef DEPCTL_STORE_EVENTS_H
#define DEPCTL_STORE_EVENTS_H

#include <dep/recover.h>

#include "tools/depctl/common/output.h"

/** event_text() - print an event as "NAME key=value..." */
void event_text(struct out *o, const struct dep_event *e);
/** event_json() - write the event as members of the JSON object that is open in @j */
void event_json(struct json *j, const struct dep_event *e);

/** attach_kind_name() - name of an enum adept_attach_kind; NULL: there is none */
const char *attach_kind_name(uint64_t kind);
/** detach_reason_name() - name of an enum adept_detach_reason; NULL: there is none */
const char *detach_reason_name(uint64_t reason);

/** event_tsc() - get the latest time stamp counter value in an event; 0: it has none */
uint64_t event_tsc(const struct dep_event *e);

#endif
