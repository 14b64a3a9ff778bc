/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two text formats of metrics: OpenMetrics and Prometheus' older text format.
 *
 * The formats differ in the name of a counter's family (without or with _total), in UNIT lines, and
 * in the end marker.
 */
#ifndef DEPD_METRICS_METRICS_TEXT_H
#define DEPD_METRICS_METRICS_TEXT_H

#include "daemon/control/control.h"

enum metrics_format { METRICS_OPEN, METRICS_CLASSIC };

/** metrics_format_text() - make the metrics' text, which the caller frees; NULL: out of memory */
char *metrics_format_text(const struct control_ops *ops, enum metrics_format format);

#endif
