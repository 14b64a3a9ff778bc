/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A fragment under construction.  There is at most one; frag_lock is held meanwhile.
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

/* Maximal size in bytes of each of the two parts of a fragment; see COLD_OFFSET. */
#define FRAG_MAX	(COLD_OFFSET - 1)

struct build_insn {
	u64 pc;
	u8 raw[16];
	struct x86_insn in;
};

struct build_exit {
	u64 target;
	/* index of the exit's branch; ninsns - 1 if the exit has no branch */
	u16 insn;
	u16 ninsns;
	u16 nstores;
	u16 mask;
	u16 reclen;
	u8 kind;
	u8 call;		/* enum exit_call */
	u8 at_id;		/* ADEPT_XT_* */
	u8 *jcc;		/* exit by a conditional branch: rel32 field of this branch */
	u8 *patch;		/* rel32 field that linking patches */
	u8 *thunk;		/* exit stub: enters the dispatcher while the exit is unlinked */
};

struct build {
	u64 pc;
	u16 mask;
	u16 relevant;
	struct arena *arena;
	u8 *start, *cold;	/* code cache memory of the hot and the cold part */
	u8 *hot_end;		/* end of the hot part; NULL until the cold part is begun */
	struct emit e;
	u32 first_exit;
	u32 limit;		/* maximal number of instructions in the fragment */
	u32 nrecorded;		/* number of exits that end a record, the first ones of exits[] */
	u32 n, nexits, nruns, nstores, nstates, nlits;
	struct build_insn ins[MAX_INSNS];
	struct build_exit exits[MAX_EXITS];
	struct adept_run runs[MAX_RUNS];
	struct adept_store stores[MAX_STORES];
	u16 store_off[MAX_STORES];	/* offset of each store's value in the record */
	struct state_entry state_entry[MAX_STATES];
	/* literals, each with the disp32 field that addresses it */
	struct { u8 *field; u64 value; } lits[MAX_LITS];
	u32 next_store;		/* index of the first store that is not emitted yet */
	u8 hold[MAX_INSNS + 1];	/* register that holds the application's r15 at each instruction */
	/* register that holds the application's r15 now; its earlier value is in TLS_SPILL0 */
	u8 held;
	u8 check;		/* bytes of the return address check at a hooked function's entry */
	u8 *land;		/* address of the landing stub in this fragment */
	/* rel32 field of the landing stub's jump for targets other than its own (mismatch exit) */
	u8 *land_miss;
	/* disp32 field that addresses the literal with the address of the bucket's next stub */
	u8 *land_lit;
	u8 land_is_return;
	u16 entry;		/* offset of the body, as in struct frag */
	u8 unwatchable;		/* 1: the source code can change without being noticed */
	u8 run_open;		/* 1: the last state entry is a STATE_RUN that can be extended */
};

/** emit_state() - add a state table entry for the code that is emitted next; see state.h */
void emit_state(struct build *b, enum state_kind kind, unsigned int insn, u8 arg, u8 arg2, u8 arg3);
/** build_literal() - add a literal with @value; the last 4 bytes emitted will be its disp32 */
void build_literal(struct build *b, u64 value);

#endif
