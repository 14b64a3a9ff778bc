/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * State translation: what each part of a fragment's code has done of the application's state.  The
 * entries are added while code is emitted; translate/state_table.h looks them up.
 */
#ifndef ADEPT_ENGINE_EMIT_STATE_H
#define ADEPT_ENGINE_EMIT_STATE_H

#include "libdep/abi/types.h"

/*
 * Kind of the code at an address.  P is the record pointer, the tag is the exit id.
 * "Before n": the application's state is that before instruction n of the fragment.
 */
enum state_kind {
	STATE_RUN,	/* copied instructions from n on: walk their lengths */
	STATE_STORE,	/* value store, before n */
	/*
	 * n done; the value store after it is not.  arg, arg2, arg3: as in STATE_DONE;
	 * STATE_TIMESTAMP in arg3 if the store is of a timestamp
	 */
	STATE_FOLLOWING,
	STATE_MANGLE,	/* before n; arg, arg2, arg3: spilled registers to restore */
	/*
	 * n done; arg, arg2, arg3: spilled registers to restore.  arg3 also has the kind of the
	 * store after n that is not done
	 */
	STATE_DONE,
	STATE_DONE_R15,	/* the same; the application's r15 is in register arg */
	STATE_GS,	/* before n; gs base added to register arg2; arg is in TLS_SPILL0 */
	STATE_GS_DONE,	/* the same, n done */
	STATE_EXIT,	/* exit arg: tag not stored; application at the exit's target */
	STATE_EXIT_TAG,	/* the same; tag stored, P not advanced */
	STATE_EXIT_DONE,	/* the same; P advanced, at a record boundary */
	STATE_CALL,	/* direct call exit arg: before n, address pushed, tag not stored */
	STATE_CALL_TAG,	/* the same, tag stored, P not advanced */
	STATE_IND,	/* indirect exit arg: before n, rcx and rdx in TLS_IND*, tag not stored */
	STATE_IND_TAG,
	STATE_IND_CALL,	/* as STATE_IND, and the return address is pushed */
	STATE_IND_CALL_TAG,
	STATE_RET_IND,	/* return by the shared path: before n, rcx in TLS_IND0, tag not stored */
	STATE_RET_IND_TAG,
	/* From here on: at a record boundary.  "At rcx": the application's pc is in rcx. */
	STATE_RET_RCX,	/* at rcx; rcx in TLS_IND0, 8 bytes still to be popped */
	STATE_AT_RCX,	/* at rcx; rcx and rdx in TLS_IND* */
	/* at rcx; rcx and rdx in TLS_IND*; 8 + arg2 + 256 * arg3 bytes still to be popped */
	STATE_RET,
	STATE_RET_SWAPPED, /* the same, and [rsp] has a cache address */
	STATE_CALLED,	/* exit stub after a native call: rsp 8 too low; at exit arg's target */
	STATE_ENTRY_CALL,	/* callee entered by native call: rsp 8 too low */
	STATE_ENTRY,	/* at the fragment's pc */
	STATE_LAND_CALL,	/* landing: rsp 8 too low, rcx = target, rcx/rdx in TLS_IND* */
	STATE_LAND,	/* landing: rcx = target */
	STATE_LAND_LOOP,	/* landing: rcx = target - pc of the landing + 1 */
	STATE_LAND_CMP,	/* landing: rcx = target - pc of the landing */
	STATE_LAND_OK,	/* landing matched; rcx/rdx in TLS_IND*; at landing's pc */
	STATE_DATA,	/* literals: never executed */
};

/* In arg3, in addition to a register: the value that is stored after the instruction. */
#define STATE_NO_REG	0x10	/* instead of a register: none */
#define STATE_TIMESTAMP	0x20
#define STATE_RSI		0x40	/* pointer after a string instruction */
#define STATE_RDI	0x60
#define STATE_AFTER	0x60	/* mask of these values */

/* Entry of the state translation table, unpacked: the cache code from off on. */
struct state_entry {
	u16 off;		/* see frag_code() */
	u8 kind;		/* enum state_kind */
	u8 insn;
	u8 nst;			/* stores of the record done before off */
	u8 arg;			/* exit index, or register in TLS_SPILL0 */
	u8 arg2;		/* register in TLS_SPILL1 */
	u8 arg3;		/* register in TLS_SPILL2 */
};

#endif
