/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Find recorded instructions by address, with an index of the store's code by page. */
#ifndef ADEPT_ANALYZE_SYNC_INSTRUCTIONS_H
#define ADEPT_ANALYZE_SYNC_INSTRUCTIONS_H

#include "libdep/format/read/store.h"
#include "libdep/x86/decode.h"
#include "hash_index.h"

/** struct sync_insns - index of code pages; empty if zeroed */
struct sync_insns {
	struct sync_code_page {
		u64 page;
		u32 process, fragment;
	} *v;
	u32 n, room;
	u32 fragments;		/* number of the store's fragments that are indexed */
	struct sync_index index;
};

/** sync_insn_at() - decode the instruction that @process executed at @pc; false: none */
bool sync_insn_at(struct sync_insns *x, struct dep_store *s, u32 process, u64 pc,
		  struct x86_insn *in);
/** sync_insn_may_drop() - can the instruction discard the value it loads (cmov)? */
bool sync_insn_may_drop(const struct x86_insn *in);
void sync_insns_free(struct sync_insns *x);

#endif
