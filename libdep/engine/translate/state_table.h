/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From a cache address to the application's state: every address in the cache at
 * which a thread may be interrupted or may fault maps to an exact application pc
 * and register state, by rolling the current sequence back or forward.
 */
#ifndef ADEPT_ENGINE_TRANSLATE_STATE_TABLE_H
#define ADEPT_ENGINE_TRANSLATE_STATE_TABLE_H

#include "fragment.h"

/*
 * Kinds.  "P" is the profile pointer, "before n" means the application state before
 * instruction n of the fragment.
 */
enum state_kind {
	STATE_RUN,	/* instructions from n on copied as they are: walk their lengths */
	STATE_STORE,	/* value store, before n */
	/*
	 * Store after instruction n, which is done but for it; arg.. as of STATE_DONE, and
	 * STATE_TIMESTAMP in arg3 if it is a timestamp's
	 */
	STATE_FOLLOWING,
	STATE_MANGLE,	/* before n; arg.. spilled registers to restore */
	/*
	 * n done; arg.. spilled registers to restore; arg3 says, too, what has yet to be stored
	 * after n
	 */
	STATE_DONE,
	STATE_DONE_R15,	/* the same; the application's r15 is in register arg */
	STATE_GS,		/* before n; register arg2 carries the gs base, arg in TLS_SPILL0 */
	STATE_GS_DONE,	/* the same, n done */
	STATE_EXIT,	/* exit arg: tag not yet stored; application at its target */
	STATE_EXIT_TAG,	/* tag stored, P not advanced */
	STATE_EXIT_DONE,	/* P advanced; at its target, between records */
	STATE_CALL,	/* direct call exit arg: before n, address pushed, tag not stored */
	STATE_CALL_TAG,	/* the same, tag stored, P not advanced */
	STATE_IND,	/* indirect exit arg: before n, rcx and rdx in TLS_IND*, tag not stored */
	STATE_IND_TAG,
	STATE_IND_CALL,	/* the same, and the return address is pushed */
	STATE_IND_CALL_TAG,
	STATE_RET_IND,	/* return by the shared path: before n, rcx in TLS_IND0, tag not stored */
	STATE_RET_IND_TAG,
	STATE_RET_RCX,	/* between records, at rcx; rcx in TLS_IND0, 8 bytes still to be popped */
	STATE_AT_RCX,	/* between records, at rcx; rcx and rdx in TLS_IND* */
	/* at rcx; rcx and rdx in TLS_IND*; 8 + arg2 + 256 * arg3 bytes still to be popped */
	STATE_RET,
	STATE_RET_SWAPPED, /* the same, and [rsp] holds a cache address */
	STATE_CALLED,	/* thunk after a native call: rsp 8 too low; at exit arg's target */
	STATE_ENTRY_CALL,	/* callee entered by native call: rsp 8 too low; between records */
	STATE_ENTRY,	/* at the fragment's pc, between records */
	STATE_LAND_CALL,	/* landing: rsp 8 too low, rcx = target, rcx/rdx in TLS_IND* */
	STATE_LAND,	/* landing: rcx = target */
	STATE_LAND_LOOP,	/* landing: rcx = target - pc of the landing + 1 */
	STATE_LAND_CMP,	/* landing: rcx = target - pc of the landing */
	STATE_LAND_OK,	/* landing matched; rcx/rdx in TLS_IND*; at landing's pc */
	STATE_DATA,	/* literals: never executed */
};

/* In arg3, beside a register: what is stored after the instruction. */
#define STATE_NO_REG	0x10	/* there is none */
#define STATE_TIMESTAMP	0x20
#define STATE_RSI		0x40	/* where a string instruction has come to */
#define STATE_RDI		0x60
#define STATE_AFTER	0x60	/* mask */

/**
 * struct state_pos - what state_lookup() found
 * @kind: one of enum state_kind; STATE_RUN has been resolved to its instruction
 * @insn: n
 * @nst: how many stores of the current record have been done
 * @regs: application registers spilled to TLS_SPILL0.., X86_NONE = none
 */
struct state_pos {
	struct frag *frag;
	enum state_kind kind;
	u8 insn;
	u8 nst;
	u8 arg, arg2, arg3;
};

/* Bytes that a packed entry takes at most. */
#define STATE_PACKED	9

/** state_pack() - make @n entries small; returns the number of bytes */
u32 state_pack(u8 *out, const struct state_entry *v, u32 n);
/** state_lookup() - find out what @addr is; 0 if it is in no fragment.  Lock-free. */
int state_lookup(u64 addr, struct state_pos *pos);

/** frag_insn_pc() - application address of instruction @n of @f (n == ninsns: the end) */
u64 frag_insn_pc(struct frag *f, unsigned int n);

#endif
