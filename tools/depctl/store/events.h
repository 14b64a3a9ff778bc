/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events for people and for programs. */
#ifndef DEPCTL_STORE_EVENTS_H
#define DEPCTL_STORE_EVENTS_H

#include <dep/recover.h>

#include "tools/depctl/common/output.h"

/** event_text() - print "NAME key=value..." */
void event_text(struct out *o, const struct dep_event *e);
/** event_json() - the same as members of the object that is open */
void event_json(struct json *j, const struct dep_event *e);

/** event_tsc() - the last time stamp counter that an event has; 0: none */
uint64_t event_tsc(const struct dep_event *e);

#endif
