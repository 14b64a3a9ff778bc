/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_ANALYZE_FIND_PREDICTED_H
#define ADEPT_ANALYZE_FIND_PREDICTED_H

#include "libdep/analyze/sync/sync.h"

/**
 * races_predict() - add to @out predicted races, for pairs of code addresses without a race in @out
 * @f: analyzer state after the second pass of prediction, which collected the events
 * @want: array with the stacks to collect, two per race; grows with @out
 *
 * Return: 0 or a negative errno.
 */
int races_predict(struct sync_events *f, struct dep_races *out, struct sync_stack **want);

#endif
