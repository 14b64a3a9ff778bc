/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * State translation: which changes to the application's state each part of a fragment's code has
 * made.  Entries are added while code is emitted; translate/state_table.h looks them up.
 */
#ifndef ADEPT_ENGINE_EMIT_STATE_H
#define ADEPT_ENGINE_EMIT_STATE_H

#include "libdep/abi/types.h"

/*
 * Kind of the code at an address in a fragment; n is an instruction of the fragment.
 *
 * "Before n": the application's state is that before instruction n.  The names use TAG for the exit
 * id of the record.
 */
enum state_kind {
	/* copied instructions from n on; add up lengths to find the instruction at the address */
	STATE_RUN,
	/* code of a value store, before instruction n */
	STATE_STORE,
	/*
	 * instruction n is done, the value store after it is not.  arg, arg2, arg3 are as in
	 * STATE_DONE; arg3 has STATE_TIMESTAMP if the value is a timestamp
	 */
	STATE_FOLLOWING,
	/* code of rewritten instruction n, before it; arg, arg2, arg3: spilled registers */
	STATE_MANGLE,
	/*
	 * code after rewritten instruction n, which is done; arg, arg2, arg3: spilled registers.
	 * arg3 also has the kind of the value that must still be stored after the instruction
	 */
	STATE_DONE,
	/* as STATE_DONE, and the application's r15 is in register arg */
	STATE_DONE_R15,
	/* before instruction n; the gs base was added to register arg2; arg is in TLS_SPILL0 */
	STATE_GS,
	/* as STATE_GS, but instruction n is done */
	STATE_GS_DONE,
	/* exit number arg, exit id not stored; the application is at the exit's target */
	STATE_EXIT,
	/* as STATE_EXIT, but the exit id is stored and the record pointer not advanced */
	STATE_EXIT_TAG,
	/* as STATE_EXIT, but the record pointer is advanced: at a record boundary */
	STATE_EXIT_DONE,
	/* exit arg is a direct call, not done yet; return address pushed, exit id not stored */
	STATE_CALL,
	/* as STATE_CALL, but the exit id is stored and the record pointer not advanced */
	STATE_CALL_TAG,
	/*
	 * exit arg is an indirect branch, not done yet; rcx and rdx in TLS_IND*, exit id not stored
	 */
	STATE_IND,
	STATE_IND_TAG,
	/* as STATE_IND, and the return address is pushed */
	STATE_IND_CALL,
	STATE_IND_CALL_TAG,
	/*
	 * exit arg is a return through the shared code of translate/returns.c, not done yet; rcx in
	 * TLS_IND0, exit id not stored
	 */
	STATE_RET_IND,
	STATE_RET_IND_TAG,
	/*
	 * In the kinds from here on, the thread is at a record boundary.  "Rsp is 8 too low": a
	 * native call has pushed a cache address, which is not part of the application's state.
	 */
	/* rcx has the application's pc, TLS_IND0 its rcx; 8 bytes must still be popped */
	STATE_RET_RCX,
	/* rcx has the application's pc, TLS_IND* its rcx and rdx */
	STATE_AT_RCX,
	/* as STATE_AT_RCX, and 8 + arg2 + 256 * arg3 bytes must still be popped */
	STATE_RET,
	/* as STATE_RET, but a cache address has already replaced the return address at [rsp] */
	STATE_RET_SWAPPED,
	/* exit stub of a native call: rsp is 8 too low; the application is at exit arg's target */
	STATE_CALLED,
	/*
	 * call entry, after a native call: rsp is 8 too low; the application is at the fragment's
	 * pc
	 */
	STATE_ENTRY_CALL,
	/* entry of a fragment: the application is at the fragment's pc */
	STATE_ENTRY,
	/* landing stub: rsp is 8 too low; rcx has the application's pc, TLS_IND* its rcx and rdx */
	STATE_LAND_CALL,
	/*
	 * landing stub: rcx has the application's pc, TLS_IND* its rcx and rdx.  With arg
	 * STATE_LAND_SWAPPED a return has been made, and a cache address is at [rsp - 8]
	 */
	STATE_LAND,
	/* landing stub: rcx is (the branch's target - the stub's pc) + 1 */
	STATE_LAND_LOOP,
	/* landing stub: rcx is (the branch's target - the stub's pc) */
	STATE_LAND_CMP,
	/* landing stub after a match: the application is at the stub's pc; rcx, rdx in TLS_IND* */
	STATE_LAND_OK,
	/* literals, which are never executed */
	STATE_DATA,
};

#define STATE_LAND_SWAPPED 1

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
	u16 off;		/* offset of the code in the fragment, see frag_code() */
	u8 kind;		/* enum state_kind */
	u8 insn;
	u8 nst;			/* number of the record's stores that are done before offset off */
	u8 arg;			/* index of an exit, or register saved in TLS_SPILL0 */
	u8 arg2;		/* register saved in TLS_SPILL1 */
	u8 arg3;		/* register saved in TLS_SPILL2, and STATE_* flags */
};

#endif
