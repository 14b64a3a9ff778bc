/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_RECOVER_FILTER_FILTERED_PROGRAM_H
#define ADEPT_RECOVER_FILTER_FILTERED_PROGRAM_H

#include <stdbool.h>

#include "libdep/recover/program/program.h"

/**
 * dep_filtered_ends() - true for an operation after which references are not redundant
 *
 * It may begin an interval, so references before it do not cover references after it.
 */
bool dep_filtered_ends(u8 code);

/** dep_filtered_make() - make @p->filtered; dep_op.origin must be set; 0 or -ENOMEM */
int dep_filtered_make(struct dep_program *p);

#endif
