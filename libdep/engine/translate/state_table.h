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
enum xl8_kind {
	XL8_RUN,	/* instructions from n on copied as they are: walk their lengths */
	XL8_STORE,	/* value store, before n */
	/*
	 * Store behind instruction n, which is done but for it; arg.. as of XL8_DONE, and
	 * XL8_TICKET in arg3 if it is a ticket's
	 */
	XL8_AFTER,
	XL8_MANGLE,	/* before n; arg.. spilled registers to restore */
	/*
	 * n done; arg.. spilled registers to restore; arg3 says, too, what has yet to be stored
	 * behind n
	 */
	XL8_DONE,
	XL8_DONE_R15,	/* the same; the application's r15 is in register arg */
	XL8_GS,		/* before n; register arg2 carries the gs base, arg in TLS_SPILL0 */
	XL8_GS_DONE,	/* the same, n done */
	XL8_EXIT,	/* exit arg: tag not yet stored; application at its target */
	XL8_EXIT_TAG,	/* tag stored, P not advanced */
	XL8_EXIT_DONE,	/* P advanced; at its target, between records */
	XL8_CALL,	/* direct call exit arg: before n, address pushed, tag not stored */
	XL8_CALL_TAG,	/* the same, tag stored, P not advanced */
	XL8_IND,	/* indirect exit arg: before n, rcx and rdx in TLS_IND*, tag not stored */
	XL8_IND_TAG,
	XL8_IND_CALL,	/* the same, and the return address is pushed */
	XL8_IND_CALL_TAG,
	XL8_RET_IND,	/* return by the shared path: before n, rcx in TLS_IND0, tag not stored */
	XL8_RET_IND_TAG,
	XL8_RET_RCX,	/* between records, at rcx; rcx in TLS_IND0, 8 bytes still to be popped */
	XL8_AT_RCX,	/* between records, at rcx; rcx and rdx in TLS_IND* */
	/* at rcx; rcx and rdx in TLS_IND*; 8 + arg2 + 256 * arg3 bytes still to be popped */
	XL8_RET,
	XL8_RET_SWAPPED, /* the same, and [rsp] holds a cache address */
	XL8_CALLED,	/* thunk behind a native call: rsp 8 too low; at exit arg's target */
	XL8_ENTRY_CALL,	/* callee entered by native call: rsp 8 too low; at pc, between records */
	XL8_ENTRY,	/* at the fragment's pc, between records */
	XL8_LAND_CALL,	/* landing: rsp 8 too low, rcx = target, rcx/rdx in TLS_IND* */
	XL8_LAND,	/* landing: rcx = target */
	XL8_LAND_LOOP,	/* landing: rcx = target - pc of the landing + 1 */
	XL8_LAND_CMP,	/* landing: rcx = target - pc of the landing */
	XL8_LAND_OK,	/* landing matched; rcx/rdx in TLS_IND*; at landing's pc */
	XL8_DATA,	/* literals: never executed */
};

/* In arg3, beside a register: what is stored behind the instruction. */
#define XL8_NO_REG	0x10	/* there is none */
#define XL8_TICKET	0x20
#define XL8_RSI		0x40	/* where a string instruction has come to */
#define XL8_RDI		0x60
#define XL8_BEHIND	0x60	/* mask */

/**
 * struct xl8_pos - what xl8_lookup() found
 * @kind: one of enum xl8_kind; XL8_RUN has been resolved to its instruction
 * @insn: n
 * @nst: how many stores of the current record have been done
 * @regs: application registers spilled to TLS_SPILL0.., X86_NONE = none
 */
struct xl8_pos {
	struct frag *frag;
	enum xl8_kind kind;
	u8 insn;
	u8 nst;
	u8 arg, arg2, arg3;
};

/* Bytes that a packed entry takes at most. */
#define XL8_PACKED	9

/** xl8_pack() - make @n entries small; returns the number of bytes */
u32 xl8_pack(u8 *out, const struct xl8 *v, u32 n);
/** xl8_lookup() - find out what @addr is; 0 if it is in no fragment.  Lock-free. */
int xl8_lookup(u64 addr, struct xl8_pos *pos);

/** frag_insn_pc() - application address of instruction @n of @f (n == ninsns: the end) */
u64 frag_insn_pc(struct frag *f, unsigned int n);

#endif
