/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A fragment while it is being built.  There is one, under frag_lock.
 */
#ifndef ADEPT_TRANSLATE_BUILD_H
#define ADEPT_TRANSLATE_BUILD_H

#include "frag.h"
#include "xl8.h"
#include "../x86/emit.h"

#define MAX_STORES	250
#define MAX_XL8		250
#define MAX_LITS	4

struct binsn {
	u64 pc;
	u8 raw[16];
	struct x86_insn in;
};

struct bexit {
	u64 target;
	u16 insn;		/* the branch; ninsns - 1 for falling out of the end */
	u16 ninsns;
	u16 nstores;
	u16 mask;
	u16 reclen;
	u8 kind;
	u8 call;		/* enum exit_call */
	u8 *jcc;		/* rel32 field that must lead to the stub */
	u8 *patch;		/* linkable rel32 field */
	u8 *thunk;
};

struct build {
	u64 pc;
	u16 mask;
	u16 relevant;
	struct arena *arena;
	u8 *start;		/* cache memory */
	struct emit e;
	u32 first_exit;
	u32 limit;		/* instructions at most */
	u32 nrecorded;		/* exits with a record: the first ones */
	u32 n, nexits, nruns, nstores, nxl8, nlits;
	struct binsn ins[MAX_INSNS];
	struct bexit exits[MAX_EXITS];
	struct adept_run runs[MAX_RUNS];
	struct adept_store stores[MAX_STORES];
	u16 store_off[MAX_STORES];	/* of the value in the record */
	struct xl8 xl8[MAX_XL8];
	struct { u8 *field; u64 value; } lits[MAX_LITS];	/* rip-relative disp32 fields */
	u32 next_store;		/* first store not yet emitted */
	u8 *land;		/* return landing in this fragment */
	u8 *land_lit;		/* its chain literal's disp32 field */
	u8 unwatchable;		/* its source may change behind our back */
	u8 run_open;		/* the last xl8 entry is an XL8_RUN that may go on */
};

/* scan.c: fill ins, runs and exits from b->pc on */
void build_scan(struct build *b);

/* What of gs, r15 and rip an instruction needs rewritten; mangle.c. */
int mangle_needed(const struct build *b, const struct binsn *bi);
void mangle_insn(struct build *b, unsigned int n);
/** mangle_supported() - 0: this instruction cannot be run from the cache */
int mangle_supported(const struct x86_insn *in);
/** mangle_load_target() - rcx = target of indirect branch @n; rcx and rdx are saved already */
void mangle_load_target(struct build *b, unsigned int n);

/* callsite.c */
/** callsite_direct() - the call stub for exit @x, a direct call; NULL if there is no room */
struct frag *callsite_direct(const struct exit *x);
/** callsite_indirect() - the stub for an indirect call that returns to @ret */
struct frag *callsite_indirect(u64 ret);

/* landing.c */
void landing_init(void);
/**
 * landing_emit() - verify that rcx is @pc, restore rcx and rdx; falls through if so
 * @is_return: reached by native returns
 */
void landing_emit(struct build *b, u64 pc, int is_return);
/** landing_get() - make sure that an indirect branch to @pc finds its way */
void landing_get(u64 pc, int is_return);
/** landing_set_return() - returns to @pc go to the landing at @addr; @lit is its chain literal */
void landing_set_return(u64 pc, u8 *addr, u64 *lit);
void landing_add_jump(u64 pc, u8 *addr, u64 *lit);
/* Through the tables, with the target in rcx: jump, call, or mov rdx, the landing. */
void landing_emit_jump(struct build *b);
void landing_emit_call(struct build *b);
void landing_emit_load_return(struct build *b);

/* build.c, for the others */
void build_xl8(struct build *b, enum xl8_kind kind, unsigned int insn, u8 arg, u8 arg2, u8 arg3);
void build_literal(struct build *b, u64 value);
/** build_landing() - a landing outside of any fragment, for jumps and calls (or returns) to @pc */
void build_landing(u64 pc, int is_return);
/**
 * build_call_stub() - a native call and the landing of its return
 * @ret: return address
 * @target: of a direct call; 0 for one through the table, rcx = target
 * @mask: registers known at the call
 */
struct frag *build_call_stub(u64 ret, u64 target, u16 mask);

#endif
