/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Instructions by their address, for those who ask of a few: the code of a store by page. */
#ifndef ADEPT_ANALYZE_SYNC_INSTRUCTIONS_H
#define ADEPT_ANALYZE_SYNC_INSTRUCTIONS_H

#include "libdep/format/read/store.h"
#include "libdep/x86/decode.h"
#include "hash_index.h"

/** struct order_insns - zeroed, nothing is known yet */
struct order_insns {
	struct order_code_page {
		u64 page;
		u32 process, fragment;
	} *v;
	u32 n, room;
	u32 fragments;		/* of them it is known what they have */
	struct order_index index;
};

/** order_insn_at() - the instruction that @process executed at @pc, if any */
bool order_insn_at(struct order_insns *x, struct dep_store *s, u32 process, u64 pc,
		   struct x86_insn *in);
/** order_insn_may_drop() - it loads, and uses what it loaded under a condition only: cmov */
bool order_insn_may_drop(const struct x86_insn *in);
void order_insns_free(struct order_insns *x);

#endif
