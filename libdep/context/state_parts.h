/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Steps of calls that the files of dep_cc_state share. */
#ifndef ADEPT_CONTEXT_STATE_PARTS_H
#define ADEPT_CONTEXT_STATE_PARTS_H

#include "state.h"

/** dep_cc_state_push() - push an entry and begin a path; does not count; 0 or an error */
int dep_cc_state_push(struct dep_cc_state *s, u64 site, u32 target, u8 kind, u64 rsp);
/** dep_cc_state_save() - save the id for the return; does not count; 0 or an error */
int dep_cc_state_save(struct dep_cc_state *s, u64 rsp);
/** dep_cc_state_count() - count a call; @how: enum dep_cc_how of its edge */
void dep_cc_state_count(struct dep_cc_state *s, bool pushed, u8 how);
/** dep_cc_state_tail_unencoded() - make and count a tail call; 0 or an error */
int dep_cc_state_tail_unencoded(struct dep_cc_state *s, u64 site, u32 callee, u64 rsp, u8 how);

#endif
