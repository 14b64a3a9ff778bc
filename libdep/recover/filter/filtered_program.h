/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef DEP_RECOVER_LEAN_H
#define DEP_RECOVER_LEAN_H

#include <stdbool.h>

#include "libdep/recover/program/program.h"

/** dep_lean_ends() - is nothing known behind such an operation of what was accessed before it? */
bool dep_lean_ends(u8 code);

/** dep_lean_make() - make @p->lean, once it is known whose code @p is; 0 or -ENOMEM */
int dep_lean_make(struct dep_program *p);

#endif
