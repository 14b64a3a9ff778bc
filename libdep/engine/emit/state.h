/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * State translation: which changes to the application's state each part of a fragment's code has
 * made.  Entries are added while code is emitted; translate/state_table.h looks them up.
 */
#ifndef ADEPT_ENGINE_EMIT_STATE_H
#define ADEPT_ENGINE_EMIT_STATE_H

#include "libdep/abi/types.h"

/*
 * Kind of the code at an address.  P is the record pointer, the tag is the exit id, n is an
 * instruction of the fragment.
 *
 * "Before n": the application's state is that before instruction n.  "n done": it is that after n.
 */
enum state_kind {
	STATE_RUN,	/* copied instructions from n on; add up lengths to find the instruction */
	STATE_STORE,	/* value store; before n */
	/*
	 * n done; the value store after n is not.  arg, arg2, arg3 are as in STATE_DONE; arg3 has
	 * STATE_TIMESTAMP if the value is a timestamp
	 */
	STATE_FOLLOWING,
	STATE_MANGLE,	/* before n; arg, arg2, arg3: spilled registers to restore */
	/*
	 * n done; arg, arg2, arg3: spilled registers to restore.  arg3 also has the kind of the
	 * value that must still be stored after n
	 */
	STATE_DONE,
	STATE_DONE_R15,	/* as STATE_DONE; the application's r15 is in register arg */
	STATE_GS,	/* before n; gs base added to register arg2; arg is in TLS_SPILL0 */
	STATE_GS_DONE,	/* as STATE_GS, but n is done */
	STATE_EXIT,	/* exit arg: tag not stored; application at the exit's target */
	STATE_EXIT_TAG,	/* as STATE_EXIT; tag stored, P not advanced */
	STATE_EXIT_DONE,	/* as STATE_EXIT; P advanced, at a record boundary */
	STATE_CALL,	/* direct call exit arg: before n, address pushed, tag not stored */
	STATE_CALL_TAG,	/* as STATE_CALL; tag stored, P not advanced */
	STATE_IND,	/* indirect exit arg: before n, rcx and rdx in TLS_IND*, tag not stored */
	STATE_IND_TAG,
	STATE_IND_CALL,	/* as STATE_IND, and the return address is pushed */
	STATE_IND_CALL_TAG,
	STATE_RET_IND,	/* return by the shared path: before n, rcx in TLS_IND0, tag not stored */
	STATE_RET_IND_TAG,
	/*
	 * In the kinds from here on, the thread is at a record boundary.  "At rcx": the
	 * application's pc is the value of register rcx.
	 */
	STATE_RET_RCX,	/* at rcx; rcx in TLS_IND0, 8 bytes still to be popped */
	STATE_AT_RCX,	/* at rcx; rcx and rdx in TLS_IND* */
	/* at rcx; rcx and rdx in TLS_IND*; 8 + arg2 + 256 * arg3 bytes still to be popped */
	STATE_RET,
	STATE_RET_SWAPPED, /* as STATE_RET, and [rsp] has a cache address */
	/* exit stub after a native call: rsp is 8 too low; at the target of exit arg */
	STATE_CALLED,
	/* callee entered by a native call: rsp is 8 too low; at the fragment's pc */
	STATE_ENTRY_CALL,
	STATE_ENTRY,	/* at the fragment's pc */
	/* landing stub: rsp is 8 too low, rcx = target, rcx and rdx in TLS_IND* */
	STATE_LAND_CALL,
	STATE_LAND,	/* landing stub: rcx = target */
	STATE_LAND_LOOP,	/* landing stub: rcx = target - pc of the landing stub + 1 */
	STATE_LAND_CMP,	/* landing stub: rcx = target - pc of the landing stub */
	STATE_LAND_OK,	/* landing stub after a match; rcx and rdx in TLS_IND*; at the stub's pc */
	STATE_DATA,	/* literals: never executed */
};

/*
 * Flags in arg3 of a state entry, in addition to a register: the value that is stored after the
 * instruction.
 */
#define STATE_NO_REG	0x10	/* no register; used in place of a register number */
#define STATE_TIMESTAMP	0x20
#define STATE_RSI		0x40	/* value of rsi after a string instruction */
#define STATE_RDI	0x60
#define STATE_AFTER	0x60	/* mask of STATE_TIMESTAMP, STATE_RSI and STATE_RDI */

/*
 * Unpacked entry of the state translation table, for the cache code from offset off to the next
 * entry.
 */
struct state_entry {
	u16 off;		/* see frag_code() */
	u8 kind;		/* enum state_kind */
	u8 insn;
	u8 nst;			/* number of the record's stores that are done before offset off */
	u8 arg;			/* index of an exit, or register saved in TLS_SPILL0 */
	u8 arg2;		/* register saved in TLS_SPILL1 */
	u8 arg3;		/* register saved in TLS_SPILL2, and STATE_* flags */
};

#endif
