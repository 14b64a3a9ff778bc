/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Instructions by their address, for those who ask of a few: the code of a store by page. */
#ifndef ADEPT_ANALYZE_SYNC_INSTRUCTIONS_H
#define ADEPT_ANALYZE_SYNC_INSTRUCTIONS_H

#include "libdep/format/read/store.h"
#include "libdep/x86/decode.h"
#include "hash_index.h"

/** struct sync_insns - zeroed, nothing is known yet */
struct sync_insns {
	struct sync_code_page {
		u64 page;
		u32 process, fragment;
	} *v;
	u32 n, room;
	u32 fragments;		/* of them it is known what they have */
	struct sync_index index;
};

/** sync_insn_at() - the instruction that @process executed at @pc, if any */
bool sync_insn_at(struct sync_insns *x, struct dep_store *s, u32 process, u64 pc,
		  struct x86_insn *in);
/** sync_insn_may_drop() - it loads, and uses what it loaded under a condition only: cmov */
bool sync_insn_may_drop(const struct x86_insn *in);
void sync_insns_free(struct sync_insns *x);

#endif
