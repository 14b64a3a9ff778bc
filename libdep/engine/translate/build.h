/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A fragment while it is being built.  There is one, under frag_lock.
 */
#ifndef ADEPT_ENGINE_TRANSLATE_BUILD_H
#define ADEPT_ENGINE_TRANSLATE_BUILD_H

#include "fragment.h"
#include "branch_table.h"
#include "state_table.h"
#include "libdep/x86/emit.h"

#define MAX_STORES	250
#define MAX_STATES		250
#define MAX_LITS	4

/* Each part of a fragment is smaller; see COLD_OFFSET. */
#define FRAG_MAX	(COLD_OFFSET - 1)

struct build_insn {
	u64 pc;
	u8 raw[16];
	struct x86_insn in;
};

struct build_exit {
	u64 target;
	u16 insn;		/* the branch; ninsns - 1 for falling out of the end */
	u16 ninsns;
	u16 nstores;
	u16 mask;
	u16 reclen;
	u8 kind;
	u8 call;		/* enum exit_call */
	u8 at_id;		/* ADEPT_XT_* */
	u8 *jcc;		/* rel32 field that must lead to the stub */
	u8 *patch;		/* linkable rel32 field */
	u8 *thunk;
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
	u32 limit;		/* instructions at most */
	u32 nrecorded;		/* exits with a record: the first ones */
	u32 n, nexits, nruns, nstores, nxl8, nlits;
	struct build_insn ins[MAX_INSNS];
	struct build_exit exits[MAX_EXITS];
	struct adept_run runs[MAX_RUNS];
	struct adept_store stores[MAX_STORES];
	u16 store_off[MAX_STORES];	/* of the value in the record */
	struct state_entry state_entry[MAX_STATES];
	struct { u8 *field; u64 value; } lits[MAX_LITS];	/* rip-relative disp32 fields */
	u32 next_store;		/* first store not yet emitted */
	u8 hold[MAX_INSNS + 1];	/* register that holds r15 during each instruction, or X86_NONE */
	u8 held;		/* the one that does now; its own value is in TLS_SPILL0 */
	u8 check;		/* bytes of return_sites_emit_check() at the entry */
	u8 *land;		/* the landing in this fragment */
	u8 *land_miss;		/* its rel32 field that leads to where a mismatch goes */
	u8 *land_lit;		/* its chain literal's disp32 field */
	u8 land_is_return;
	u16 entry;		/* see struct frag */
	u8 unwatchable;		/* its source may change after our back */
	u8 run_open;		/* the last state_entry entry is an STATE_RUN that may go on */
};

/* scan.c: fill ins, runs and exits from b->pc on */
void build_scan(struct build *b);

/* What of gs, r15 and rip an instruction needs rewritten; mangle.c. */
int mangle_needed(const struct build_insn *bi);
void mangle_insn(struct build *b, unsigned int n);
/** mangle_supported() - 0: this instruction cannot be run from the cache */
int mangle_supported(const struct x86_insn *in);
/** mangle_load_target() - rcx = target of indirect branch @n; rcx and rdx are saved already */
void mangle_load_target(struct build *b, unsigned int n);

/** mangle_gs() - has it a ModRM operand after gs? */
int mangle_gs(const struct build_insn *bi);
/** mangle_implicit_gs() - a gs-relative operand that is none */
int mangle_implicit_gs(const struct x86_insn *in);

/* reserved_reg.c */
/** r15_named() - does a field of it name r15? */
int r15_named(const struct x86_insn *in);
/** reserved_reg_plan() - decide which registers hold r15, and where */
void reserved_reg_plan(struct build *b);
/* Around instruction @n and its stores: let a register hold r15, or no longer. */
void reserved_reg_load(struct build *b, unsigned int n);
void reserved_reg_spill(struct build *b, unsigned int n);
/** r15_emit_slot_form() - @n with r15's slot in memory for r15 */
void r15_emit_slot_form(struct build *b, unsigned int n);

/* commit.c */
/** build_begin() - start to emit @b->pc's code; @a: in that arena, right after what is there */
void build_begin(struct build *b, struct arena *a);
/** emit_state() - what the code from here on is; see state_table.h */
void emit_state(struct build *b, enum state_kind kind, unsigned int insn, u8 arg, u8 arg2, u8 arg3);
/** build_literal() - the disp32 just emitted shall address a literal with this value */
void build_literal(struct build *b, u64 value);
/** build_commit() - add the cold part and keep it all; NULL if a table overflowed */
struct frag *build_commit(struct build *b);

/* build.c */
/** build_stub() - begin code that is no translation of instructions; known there: {rsp} */
struct build *build_stub(u64 pc, struct arena *a);

/* exits.c */
/** exits_emit_linkable() - jmp or call; returns its rel32 field, which can be linked */
u8 *exits_emit_linkable(struct build *b, u8 opcode);
void exits_emit_branch(struct build *b, unsigned int n, struct build_exit *x);
/** exits_emit_final() - what follows the last instruction */
void exits_emit_final(struct build *b);
/** exits_emit_stubs() - the records of side exits */
void exits_emit_stubs(struct build *b);
/** exits_emit_thunk() - way to the dispatcher for exit @i, which will be @x */
void exits_emit_thunk(struct build *b, u32 i, const struct exit *x);

/* returns.c */
/**
 * returns_prepare() - make sure that @pc's arena has its shared return path
 *
 * Before anything else is built there, for what is built after a landing must not be
 * parted from it.
 */
void returns_prepare(u64 pc);
/** returns_emit() - leave by return @i, by native return */
void returns_emit(struct build *b, u32 i);
/** returns_emit_by_jump() - the same for ret n and strict mode: rcx = target already */
void returns_emit_by_jump(struct build *b, u32 i);

/* call_stub.c */
/** callsite_init() - before the first call is translated */
void callsite_init(void);
/** call_stub_direct() - the call stub for exit @x, a direct call */
struct frag *call_stub_direct(const struct exit *x);
/**
 * call_stub_indirect() - the stub for an indirect call that returns to @ret
 * @inlined: the code there may be translated along with it
 */
struct frag *call_stub_indirect(u64 ret, int inlined);
/** call_stub_rebuild() - the fragment into which the landing of @ret fell is dead */
void call_stub_rebuild(u64 ret);

/* landing.c */
void landing_init(void);
/**
 * landing_emit_mismatch_exit() - a landing's first code, before what leads to it: for a mismatch
 */
void landing_emit_mismatch_exit(struct build *b);
/**
 * landing_emit() - verify that rcx is @b->pc, restore rcx and rdx; falls through if so
 * @is_return: reached by native returns
 */
void landing_emit(struct build *b, int is_return);
/** landing_emit_mismatch() - its part for the cold part */
void landing_emit_mismatch(struct build *b);
/** landing_place() - of the landing in @b, which has just been committed */
struct landing_place landing_place(const struct build *b);
/** landing_build_tail() - what a landing for @pc, the last code in @a, falls into */
void landing_build_tail(u64 pc, struct arena *a, enum after after);
/** landing_renew() - the fragment into which the landing of jumps to @pc fell is dead */
void landing_renew(u64 pc);
/** landing_get() - make sure that an indirect branch to @pc finds its way */
void landing_get(u64 pc, int is_return);

#endif
