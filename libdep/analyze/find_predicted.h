/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_ANALYZE_FIND_PREDICTED_H
#define ADEPT_ANALYZE_FIND_PREDICTED_H

#include "libdep/analyze/sync/sync.h"

/**
 * races_predict() - add predicted races of places that are not in @out
 *
 * Call it after the second pass with @f->predict. Return: 0 or -ENOMEM.
 */
int races_predict(struct sync_events *f, struct dep_races *out, struct sync_stack **want);

#endif
