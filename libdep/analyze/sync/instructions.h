/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Recorded instructions by address: an index of a store's code by page. */
#ifndef ADEPT_ANALYZE_SYNC_INSTRUCTIONS_H
#define ADEPT_ANALYZE_SYNC_INSTRUCTIONS_H

#include "libdep/format/read/store.h"
#include "libdep/x86/decode.h"
#include "hash_index.h"

/** struct sync_insns - empty if zeroed */
struct sync_insns {
	struct sync_code_page {
		u64 page;
		u32 process, fragment;
	} *v;
	u32 n, room;
	u32 fragments;		/* fragments of the store that are indexed */
	struct sync_index index;
};

/** sync_insn_at() - the instruction that @process executed at @pc, if any */
bool sync_insn_at(struct sync_insns *x, struct dep_store *s, u32 process, u64 pc,
		  struct x86_insn *in);
/** sync_insn_may_drop() - can the instruction discard the loaded value (cmov)? */
bool sync_insn_may_drop(const struct x86_insn *in);
void sync_insns_free(struct sync_insns *x);

#endif
