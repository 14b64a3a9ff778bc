/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef DEP_RECOVER_AT_H
#define DEP_RECOVER_AT_H

#include "../format/store.h"
#include "../x86/decode.h"

/** dep_insn_at() - the instruction that @process executed at @pc; goes over all its code */
bool dep_insn_at(struct dep_store *s, u32 process, u64 pc, struct x86_insn *in);
/** dep_insn_may_drop() - it loads, and uses what it loaded under a condition only: cmov */
bool dep_insn_may_drop(const struct x86_insn *in);

#endif
