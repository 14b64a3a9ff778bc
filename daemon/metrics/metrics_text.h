/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two text formats of metrics.  They differ in what a counter's family is called
 * (without _total, or with), in units, and in the end.
 */
#ifndef DEPD_METRICS_METRICS_TEXT_H
#define DEPD_METRICS_METRICS_TEXT_H

#include "daemon/control/control.h"

enum metrics_format { METRICS_OPEN, METRICS_CLASSIC };

/** metrics_format_text() - malloc()ed; NULL without memory */
char *metrics_format_text(const struct control_ops *ops, enum metrics_format format);

#endif
