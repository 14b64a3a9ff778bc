/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A fragment under construction.  There is at most one, with frag_lock held.
 *
 * The translator, the recording and the function hooks all add code to it.
 */
#ifndef ADEPT_ENGINE_EMIT_BUILD_H
#define ADEPT_ENGINE_EMIT_BUILD_H

#include "fragment.h"
#include "state.h"
#include "libdep/x86/emit.h"

#define MAX_STORES	250
#define MAX_STATES	250
#define MAX_LITS	4

/* Maximal size of each part of a fragment; see COLD_OFFSET. */
#define FRAG_MAX	(COLD_OFFSET - 1)

struct build_insn {
	u64 pc;
	u8 raw[16];
	struct x86_insn in;
};

struct build_exit {
	u64 target;
	u16 insn;		/* the branch; ninsns - 1 if the fragment just ends */
	u16 ninsns;
	u16 nstores;
	u16 mask;
	u16 reclen;
	u8 kind;
	u8 call;		/* enum exit_call */
	u8 at_id;		/* ADEPT_XT_* */
	u8 *jcc;		/* side exit: rel32 field of the branch to the code of the exit */
	u8 *patch;		/* linkable rel32 field */
	u8 *thunk;		/* exit stub */
};

struct build {
	u64 pc;
	u16 mask;
	u16 relevant;
	struct arena *arena;
	u8 *start, *cold;	/* cache memory of the two parts */
	u8 *hot_end;		/* NULL until the cold part is emitted */
	struct emit e;
	u32 first_exit;
	u32 limit;		/* maximal number of instructions */
	u32 nrecorded;		/* the first exits, which have records */
	u32 n, nexits, nruns, nstores, nstates, nlits;
	struct build_insn ins[MAX_INSNS];
	struct build_exit exits[MAX_EXITS];
	struct adept_run runs[MAX_RUNS];
	struct adept_store stores[MAX_STORES];
	u16 store_off[MAX_STORES];	/* offset of the value in the record */
	struct state_entry state_entry[MAX_STATES];
	struct { u8 *field; u64 value; } lits[MAX_LITS];	/* rip-relative disp32 fields */
	u32 next_store;		/* first store not yet emitted */
	u8 hold[MAX_INSNS + 1];	/* register that holds r15 during each instruction, or X86_NONE */
	u8 held;		/* register that holds r15 now; its own value is in TLS_SPILL0 */
	u8 check;		/* bytes of return_sites_emit_check() at the entry */
	u8 *land;		/* the landing in this fragment */
	u8 *land_miss;		/* rel32 field of the landing's jump to its mismatch exit */
	u8 *land_lit;		/* disp32 field that addresses the literal with the next landing */
	u8 land_is_return;
	u16 entry;		/* see struct frag */
	u8 unwatchable;		/* untracked: its source can change without notice */
	u8 run_open;		/* the last state entry is an STATE_RUN that can be extended */
};

/** emit_state() - add a state table entry for the code from here on; see state.h */
void emit_state(struct build *b, enum state_kind kind, unsigned int insn, u8 arg, u8 arg2, u8 arg3);
/** build_literal() - let the disp32 just emitted address a literal with this value */
void build_literal(struct build *b, u64 value);

#endif
