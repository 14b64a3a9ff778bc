/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_RECOVER_FILTER_FILTERED_PROGRAM_H
#define ADEPT_RECOVER_FILTER_FILTERED_PROGRAM_H

#include <stdbool.h>

#include "libdep/recover/program/program.h"

/** dep_filtered_ends() - does the operation make earlier accesses of the execution irrelevant? */
bool dep_filtered_ends(u8 code);

/** dep_filtered_make() - make @p->filtered; needs dep_op.origin; 0 or -ENOMEM */
int dep_filtered_make(struct dep_program *p);

#endif
