/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef DEP_RECOVER_LEAN_H
#define DEP_RECOVER_LEAN_H

#include "../../include/dep/recover.h"
#include "program.h"

/** dep_lean_make() - fill @p->lean, once it is known whose code @p is */
void dep_lean_make(struct dep_program *p);

#endif
