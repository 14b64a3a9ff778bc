/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The analyzer: derives memory accesses and the order of threads from recovered items. */
#ifndef ADEPT_ANALYZE_SYNC_EVENTS_H
#define ADEPT_ANALYZE_SYNC_EVENTS_H

#include "sync.h"

/** sync_items() - callback dep_analyzer.items(); @self is a struct sync_events */
ssize_t sync_items(void *self, const struct dep_thread *t, const struct dep_item *items,
		   size_t n, bool late);
int sync_segment(void *self, const struct dep_thread *t, u32 segment);
int sync_gap(void *self, const struct dep_thread *t);
int sync_end(void *self, const struct dep_thread *t);

#endif
