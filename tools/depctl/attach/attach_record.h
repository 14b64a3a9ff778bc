/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DEPCTL_ATTACH_ATTACH_RECORD_H
#define DEPCTL_ATTACH_ATTACH_RECORD_H

#include "tools/depctl/record/record.h"

/**
 * attach_record() - record a running process
 *
 * Records until the process ends, a signal asks depctl to end, or o->for_ns has passed; with
 * o->background, returns when depd records the process.
 *
 * Return: exit status of depctl.
 */
int attach_record(struct record_options *o, pid_t pid);

#endif
